import type { CommandStep, EffectStep, Next } from '@penstock/kernel/process.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Basics } from './basics.ts'
import { crashPoint } from './crash-points.ts'
import { derivedId } from './derived-ids.ts'
import type { Effects } from './effects.ts'
import type { Handled } from './handle.ts'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'
import { type CommandMessage, newCommand } from './messages.ts'
import { sendCommand } from './send.ts'
import type { Aggregate } from './service.ts'
import { type Streams, streamOf } from './streams.ts'
import type { TimerIndex } from './timer-index.ts'
import type { Asks, Unfinished } from './unfinished.ts'

export type AdvanceContext<Ports> = {
  readonly service: string
  readonly aggregates: ReadonlyMap<string, Aggregate<Ports>>
  readonly streams: Streams
  readonly bus: Bus
  readonly timers: TimerIndex
  readonly unfinished: Unfinished
  readonly effects: Effects
  readonly ports: Ports & Basics
  readonly signal: AbortSignal
  /** Decides a command at an own aggregate and runs that stream's process. */
  readonly decide: (command: CommandMessage) => Promise<Handled>
}

/** The last attempt of each step that was sent for a stream. */
type Sent = ReadonlyMap<string, number>

/** Runs the process of a stream: what its state asks for is sent, set or started. Safe to repeat at any time. */
export type Advance = (category: string, id: string, options?: { readonly afresh: boolean }) => Promise<void>

export function advance<Ports>(context: AdvanceContext<Ports>): Advance {
  // What this process has sent or set since it began; a restart asks everything again, and receivers drop what they know.
  const sent = lru<string, Sent>(STREAMS_UNDER_WAY)

  const tellOthers = async (stream: string, correlation: string, step: CommandStep): Promise<void> => {
    if (sent.get(stream)?.get(step.step) === step.attempt) return
    const id = derivedId(stream, step.step, step.attempt)
    const at = context.ports.clock.now()
    const command = newCommand({ id, category: step.category, aggregateId: step.id, command: step.command, at, correlation })
    crashPoint(`${context.service}.before-send`)
    if (context.aggregates.has(step.category)) await context.decide(command)
    else await sendCommand(context.bus, context.ports.tracing, command, { 'penstock.attempt': step.attempt })
    crashPoint(`${context.service}.after-send`)
    sent.set(stream, new Map(sent.get(stream)).set(step.step, step.attempt))
  }
  // What is answered is not asked for again, and some streams live for long.
  const keepOnly = (stream: string, asked: readonly CommandStep[]): void => {
    const names = new Set(asked.map(({ step }) => step))
    const kept = [...(sent.get(stream) ?? [])].filter(([name]) => names.has(name))
    if (kept.length === 0) sent.delete(stream)
    else sent.set(stream, new Map(kept))
  }

  return async (category, id, options) => {
    const aggregate = context.aggregates.get(category)
    if (!aggregate) throw new Error(`${context.service} does not own ${category}`)
    const stream = streamOf(aggregate, id)
    // Who comes by without having decided anything may be behind what other replicas have appended.
    const { state, revision } = await (options ? context.streams.fresh(aggregate, id) : context.streams.load(aggregate, id))
    if (!aggregate.process) return context.unfinished.ran(stream, { revision, asks: 'nothing' })
    const steps = aggregate.process(state, id)
    const correlation = aggregate.correlation?.(id, state) ?? id
    if (options?.afresh) {
      sent.delete(stream)
      context.timers.forget(stream)
    }
    // Effects first: they need neither the bus nor the timers, and some of them give money back.
    for (const step of steps) if (step.kind === 'effect') startEffect(context, aggregate, id, correlation, step)
    const commands = steps.filter((step) => step.kind === 'command')
    for (const step of commands) await tellOthers(stream, correlation, step)
    keepOnly(stream, commands)
    const deadlines = steps.filter((step) => step.kind === 'deadline')
    await context.timers.set(stream, revision, deadlines)
    context.unfinished.ran(stream, { revision, asks: mostOf(steps) })
  }
}

const mostOf = (steps: readonly Next[]): Asks =>
  (['effect', 'command', 'deadline'] as const).find((most) => steps.some(({ kind }) => kind === most)) ?? 'nothing'

function startEffect<Ports>(
  context: AdvanceContext<Ports>,
  aggregate: Aggregate<Ports>,
  id: string,
  correlation: string,
  step: EffectStep,
): void {
  const key = `${streamOf(aggregate, id)}/${step.step}/${step.attempt}`
  const act = () => actOn(context, aggregate, { id, correlation, step, key })
  const about = { category: aggregate.contract.category, aggregateId: id, correlation }
  const restMs = aggregate.restsMs?.[step.effect]
  context.effects.start({ key, service: context.service, name: step.effect, about, restMs, act })
}

type Wish = { readonly id: string; readonly correlation: string; readonly step: EffectStep; readonly key: string }

/** Looks whether the state still asks, acts, and tells the stream what happened. */
async function actOn<Ports>(context: AdvanceContext<Ports>, aggregate: Aggregate<Ports>, { id, correlation, step, key }: Wish) {
  const isAsked = (state: unknown): boolean =>
    aggregate
      .process?.(state, id)
      .some((next) => next.kind === 'effect' && next.step === step.step && next.attempt === step.attempt) ?? false
  // Another replica may have carried it out and recorded it: what this one remembers is not enough to act on.
  const present = async (): Promise<unknown> => (await context.streams.fresh(aggregate, id)).state
  const state = await present()
  if (!isAsked(state)) return 'not-asked'
  const act = aggregate.effects?.[step.effect]
  if (!act) throw new Error(`${aggregate.contract.category} has no effect "${step.effect}"`)
  const stillAsked = async (): Promise<boolean> => isAsked(await present())
  const outcome = await act(state, { id, ports: context.ports, signal: context.signal, stillAsked })
  crashPoint(`${context.service}.${step.effect}.before-outcome`)
  if (!outcome) return 'nothing-new'
  const { news } = await context.decide(
    newCommand({
      // The id tells tries apart that ended differently, and not those that ended alike.
      id: derivedId(key, outcome.type, JSON.stringify(outcome.data)),
      category: aggregate.contract.category,
      aggregateId: id,
      command: outcome,
      at: context.ports.clock.now(),
      correlation,
    }),
  )
  return news ? 'recorded' : 'nothing-new'
}
