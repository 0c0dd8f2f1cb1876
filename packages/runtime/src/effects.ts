import type { Clock } from '@penstock/ports/clock.ts'
import { backoff } from './backoff.ts'
import type { Basics } from './basics.ts'
import { crashPoint } from './crash-points.ts'
import { effectSeconds, effectsRunning, effectTries } from './metrics.ts'
import { traceOf } from './trace.ts'
import { orderOf, streamAttributes, traced } from './tracing.ts'

/** One effect that a state asks for. */
export type EffectRun = {
  /** Unique per stream, step and attempt: it never runs twice at once in this process. */
  readonly key: string
  readonly service: string
  readonly name: string
  /** The stream that asks. */
  readonly about: { readonly category: string; readonly aggregateId: string; readonly correlation: string }
  /** The pause after the first outcome that changed nothing, each further one twice as long; undefined: as after a fault. */
  readonly restMs?: number | undefined
  /** Looks whether the state still asks; acts; tells the stream. @returns whether something new was recorded */
  readonly act: () => Promise<'recorded' | 'nothing-new' | 'not-asked'>
}

export type Effects = {
  start(run: EffectRun): void
  /** Waits for what is under way; nothing new starts. */
  close(): Promise<void>
}

/** Of one effect: a node that never answers one kind of call must not keep another waiting, least of all a cancellation. */
const SIDE_BY_SIDE = 64

/**
 * Runs effects beside each other, each until it is recorded or no longer asked for. A fault is tried again with
 * back-off; so is an outcome that changed nothing while the state goes on asking, which would otherwise spin.
 */
export function effects(basics: Pick<Basics, 'log' | 'tracing'> & { readonly clock: Clock }, signal: AbortSignal): Effects {
  const running = new Map<string, Promise<void>>()
  const slotsOf = new Map<string, Slots>()

  const once = async (run: EffectRun, tries: number): Promise<'done' | 'again' | 'rest'> => {
    const labels = { component: run.service, effect: run.name }
    const slots = slotsOf.get(run.name) ?? newSlots()
    slotsOf.set(run.name, slots)
    await slots.take()
    const since = basics.clock.monotonicMs()
    try {
      crashPoint(`${run.service}.${run.name}.after-intent`)
      const told = await traced(
        basics.tracing,
        () => spanOf(run, tries),
        run.act,
        (outcome) => ({ attributes: { 'penstock.outcome': outcome }, isIdle: outcome === 'not-asked' }),
      )
      effectTries.inc({ ...labels, outcome: told })
      return told === 'nothing-new' ? 'rest' : 'done'
    } catch (error) {
      effectTries.inc({ ...labels, outcome: 'failed' })
      basics.log.warn({ ...toldOf(run), reason: String(error) }, 'an effect failed; it is tried again')
      return 'again'
    } finally {
      effectSeconds.observe(labels, (basics.clock.monotonicMs() - since) / 1000)
      slots.free()
    }
  }

  const until = async (run: EffectRun): Promise<void> => {
    let [faults, rests] = [0, 0]
    while (!signal.aborted) {
      const told = await once(run, faults + rests)
      if (told === 'done') return
      await basics.clock.sleep(told === 'rest' ? backoff(rests++, run.restMs) : backoff(faults++), signal)
    }
  }

  return {
    start(run) {
      if (signal.aborted || running.has(run.key)) return
      const labels = { component: run.service, effect: run.name }
      effectsRunning.inc(labels)
      const ended = until(run).finally(() => {
        effectsRunning.dec(labels)
        running.delete(run.key)
      })
      running.set(run.key, ended)
    },
    async close() {
      await Promise.allSettled(running.values())
    },
  }
}

const spanOf = ({ service, name, about }: EffectRun, tries: number) => ({
  name: `effect ${name}`,
  trace: traceOf(about.correlation),
  kind: 'client' as const,
  attributes: {
    ...streamAttributes(service, about.category, about.aggregateId, about.correlation),
    'penstock.effect': name,
    'penstock.attempt': tries + 1,
  },
})

const toldOf = ({ name, key, about: { category, aggregateId, correlation } }: EffectRun) => ({
  ...orderOf(category, aggregateId, correlation),
  trace: traceOf(correlation),
  effect: name,
  key,
})

type Slots = { take(): Promise<void>; free(): void }

function newSlots(): Slots {
  const waiting: (() => void)[] = []
  let left = SIDE_BY_SIDE
  return {
    async take() {
      if (left > 0) left -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve)) // the slot is handed on as it is
    },
    free() {
      const next = waiting.shift()
      if (next) next()
      else left += 1
    },
  }
}
