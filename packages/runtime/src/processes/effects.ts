import { computeBackoffMs } from '@penstock/kernel/backoff.ts'
import type { BasePorts } from '../base-ports.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { createEffectLanes } from './effect-lanes.ts'
import { effectSeconds, effectsRunning, effectTries } from '../observability/metrics.ts'
import { deriveTraceId } from '../observability/trace-ids.ts'
import { subjectFieldOf, streamAttributes, withSpan } from '../observability/tracing.ts'

/** One effect that a state requests. */
export type EffectRun = {
  /** Unique per stream, step and attempt. Two runs with the same key never overlap in this process. */
  readonly key: string
  readonly service: string
  readonly name: string
  /** The host, node or endpoint that the effect calls. */
  readonly lane?: string | undefined
  /** The stream that requests the effect. */
  readonly about: { readonly category: string; readonly aggregateId: string; readonly correlation: string }
  /**
   * Milliseconds to wait after the first outcome that changed nothing. Each further such outcome doubles the wait. The
   * default is the first wait after a fault.
   */
  readonly retryDelayMs?: number | undefined
  /** Checks the state, performs the effect, and reports its outcome to the stream. @returns whether a fact was recorded */
  readonly act: () => Promise<'recorded' | 'nothing-new' | 'not-asked'>
}

export type EffectRunner = {
  start(run: EffectRun): void
  /** Waits for the running effects. After the signal no new effects start. */
  close(): Promise<void>
}

/**
 * Runs effects concurrently, each until its outcome is recorded or the effect is no longer requested. After a fault, or
 * after an outcome that changed nothing, the effect is retried with back-off.
 */
export function createEffectRunner(
  basePorts: Pick<BasePorts, 'log' | 'tracing' | 'clock' | 'ids'>,
  signal: AbortSignal,
): EffectRunner {
  const running = new Map<string, Promise<void>>()
  const runInLane = createEffectLanes()

  const tryOnce = async (run: EffectRun, tries: number): Promise<'done' | 'again' | 'rest'> => {
    const labels = { component: run.service, effect: run.name }
    const since = basePorts.clock.monotonicMs()
    try {
      hitCrashPoint(`${run.service}.${run.name}.after-intent`)
      const outcome = await withSpan(
        basePorts.tracing,
        () => describeSpan(run, tries),
        run.act,
        (outcome) => ({ attributes: { 'penstock.outcome': outcome }, isIdle: outcome === 'not-asked' }),
      )
      effectTries.inc({ ...labels, outcome })
      return outcome === 'nothing-new' ? 'rest' : 'done'
    } catch (error) {
      effectTries.inc({ ...labels, outcome: 'failed' })
      basePorts.log.warn({ ...logFieldsOf(run), reason: String(error) }, 'an effect failed; retrying')
      return 'again'
    } finally {
      effectSeconds.observe(labels, (basePorts.clock.monotonicMs() - since) / 1000)
    }
  }

  const runUntilRecorded = async (run: EffectRun): Promise<void> => {
    let [faults, unchanged] = [0, 0]
    while (!signal.aborted) {
      const tries = faults + unchanged
      const outcome = await runInLane(run.name, run.lane, () => tryOnce(run, tries))
      if (outcome === 'done') return
      await basePorts.clock.sleep(
        outcome === 'rest'
          ? computeBackoffMs(unchanged++, basePorts.ids, run.retryDelayMs)
          : computeBackoffMs(faults++, basePorts.ids),
        signal,
      )
    }
  }

  return {
    start(run) {
      if (signal.aborted || running.has(run.key)) return
      const labels = { component: run.service, effect: run.name }
      effectsRunning.inc(labels)
      const ended = runUntilRecorded(run).finally(() => {
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

const describeSpan = ({ service, name, about }: EffectRun, tries: number) => ({
  name: `effect ${name}`,
  trace: deriveTraceId(about.correlation),
  kind: 'client' as const,
  attributes: {
    ...streamAttributes(service, about.category, about.aggregateId, about.correlation),
    'penstock.effect': name,
    'penstock.attempt': tries + 1,
  },
})

const logFieldsOf = ({ name, key, about: { category, aggregateId, correlation } }: EffectRun) => ({
  ...subjectFieldOf(category, aggregateId, correlation),
  trace: deriveTraceId(correlation),
  effect: name,
  key,
})
