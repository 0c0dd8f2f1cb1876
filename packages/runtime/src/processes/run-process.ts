import type { CommandStep, EffectStep, ProcessStep } from '@penstock/kernel/process.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { BasePorts } from '../base-ports.ts'
import { hitCrashPoint } from '../crash-points.ts'
import { deriveId } from '../commands/derived-ids.ts'
import type { EffectRunner } from './effects.ts'
import type { HandledCommand } from '../commands/handle-command.ts'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import { type CommandMessage, namespacedId, newCommand } from '../commands/messages.ts'
import { runWithLowPriority, runWithRegularPriority } from '../commands/low-priority.ts'
import { isUnpaid, type PaidPriorityScheduler } from '../commands/paid-first.ts'
import { sendCommand } from '../commands/send-command.ts'
import { type Aggregate, isSentUntilHandled } from '../service.ts'
import { type StreamCache, streamNameOf } from '../commands/stream-cache.ts'
import type { HandledCommands } from './handled-commands.ts'
import type { TimerIndex } from './timer-index.ts'
import type { PendingStep, OpenStreams } from './open-streams.ts'

export type ProcessRunnerContext<Ports> = {
  readonly service: string
  readonly aggregates: ReadonlyMap<string, Aggregate<Ports>>
  readonly streams: StreamCache
  readonly bus: Bus
  readonly timers: TimerIndex
  readonly openStreams: OpenStreams
  readonly handledCommands: HandledCommands | undefined
  readonly effects: EffectRunner
  readonly paidFirst: PaidPriorityScheduler
  readonly ports: Ports & BasePorts
  readonly signal: AbortSignal
  /** Decides a command at an own aggregate and runs that stream's process. */
  readonly decide: (command: CommandMessage) => Promise<HandledCommand>
}

/** The last attempt of each step that was sent for a stream. */
type SentAttempts = ReadonlyMap<string, number>

/** Runs the process of a stream: starts its effects, sends its commands, sets its deadlines. A repetition is always safe. */
export type ProcessRunner = (category: string, id: string, options?: { readonly isReset: boolean }) => Promise<void>

export function createProcessRunner<Ports>(context: ProcessRunnerContext<Ports>): ProcessRunner {
  // The steps that were sent since the start. A restarted service sends all steps again, and receivers drop repetitions.
  const sent = new LRUCache<string, SentAttempts>({ max: STREAM_CACHE_SIZE })

  const sendStep = async (stream: string, correlation: string, step: CommandStep): Promise<void> => {
    if (sent.get(stream)?.get(step.step) === step.attempt) return
    const id = deriveId(stream, step.step, step.attempt)
    const at = context.ports.clock.now()
    const { category, id: aggregateId, notAfter } = step
    if (notAfter !== undefined && at > notAfter) return
    const limit = notAfter !== undefined && { notAfter }
    const command = newCommand({ id, category, aggregateId, command: step.command, at, correlation, ...limit })
    hitCrashPoint(`${context.service}.before-send`)
    if (context.aggregates.has(step.category)) await context.decide(command)
    else await sendCommand(context.service, context.bus, context.ports.tracing, command, { 'penstock.attempt': step.attempt })
    hitCrashPoint(`${context.service}.after-send`)
    sent.set(stream, new Map(sent.get(stream)).set(step.step, step.attempt))
  }
  // Drops steps that the state no longer requests, because some streams stay open for long.
  const forgetUnrequested = (stream: string, requested: readonly CommandStep[]): void => {
    const names = new Set(requested.map(({ step }) => step))
    const remaining = [...(sent.get(stream) ?? [])].filter(([name]) => names.has(name))
    if (remaining.length === 0) sent.delete(stream)
    else sent.set(stream, new Map(remaining))
  }

  return async (category, id, options) => {
    const aggregate = context.aggregates.get(category)
    if (!aggregate) throw new Error(`${context.service} does not own ${category}`)
    const stream = streamNameOf(aggregate, id)
    // A caller that has not just decided at the stream may have a stale fold, because other replicas append too.
    const { state, revision } = await (options ? context.streams.loadFresh(aggregate, id) : context.streams.load(aggregate, id))
    if (!aggregate.process) return context.openStreams.recordRun(stream, { revision, pendingStep: 'nothing' })
    const steps = aggregate.process(state, id).filter((step) => !isHandled(context, aggregate, stream, step))
    const correlation = aggregate.correlation?.(id, state) ?? id
    if (options?.isReset) {
      sent.delete(stream)
      context.timers.forget(stream)
    }
    // Effects start first, because they need neither the bus nor the timers, and some of them cancel payments.
    for (const step of steps) if (step.kind === 'effect') startEffect(context, aggregate, id, correlation, step)
    const commands = steps.filter((step) => step.kind === 'command')
    for (const step of commands) await sendStep(stream, correlation, step)
    forgetUnrequested(stream, commands)
    const deadlines = steps.filter((step) => step.kind === 'deadline')
    await context.timers.set(stream, revision, deadlines)
    context.openStreams.recordRun(stream, { revision, pendingStep: mostUrgentStep(steps) })
  }
}

/** The runner has sent all commands. A command that is sent once is not repeated, so its stream waits for nothing. */
const mostUrgentStep = (steps: readonly ProcessStep[]): PendingStep =>
  (['effect', 'command', 'deadline'] as const).find((most) => steps.some((step) => step.kind === most && !isSentOnce(step))) ??
  'nothing'

const isSentOnce = (step: ProcessStep): boolean => step.kind === 'command' && step.isSentOnce === true

/** Whether the step is a command that is sent until it is handled, and its receiver has handled it. */
const isHandled = <Ports>(
  { service, handledCommands }: Pick<ProcessRunnerContext<Ports>, 'service' | 'handledCommands'>,
  { sentUntilHandled }: Aggregate<Ports>,
  stream: string,
  step: ProcessStep,
): boolean => {
  if (step.kind !== 'command' || !isSentUntilHandled(sentUntilHandled, step)) return false
  const commandId = namespacedId(service, deriveId(stream, step.step, step.attempt))
  return handledCommands?.has(stream, { category: step.category, commandId }) ?? false
}

function startEffect<Ports>(
  context: ProcessRunnerContext<Ports>,
  aggregate: Aggregate<Ports>,
  id: string,
  correlation: string,
  step: EffectStep,
): void {
  const key = `${streamNameOf(aggregate, id)}/${step.step}/${step.attempt}`
  const act = () => performEffect(context, aggregate, { id, correlation, step, key })
  const about = { category: aggregate.contract.category, aggregateId: id, correlation }
  const retryDelayMs = aggregate.retryDelaysMs?.[step.effect]
  context.effects.start({ key, service: context.service, name: step.effect, lane: step.lane, about, retryDelayMs, act })
}

type EffectRequest = { readonly id: string; readonly correlation: string; readonly step: EffectStep; readonly key: string }

/**
 * Checks that the state still requests the effect, performs it, and sends its outcome to the stream. While the effect waits for
 * the outside world, it does not count as running work, because unpaid work would wait for it.
 */
async function performEffect<Ports>(
  context: ProcessRunnerContext<Ports>,
  aggregate: Aggregate<Ports>,
  { id, correlation, step, key }: EffectRequest,
) {
  const isRequested = (state: unknown): boolean =>
    aggregate
      .process?.(state, id)
      .some((next) => next.kind === 'effect' && next.step === step.step && next.attempt === step.attempt) ?? false
  // Another replica may have performed and recorded the effect, so the cached state is not enough.
  const loadState = async (): Promise<unknown> => (await context.streams.loadFresh(aggregate, id)).state
  const effect = aggregate.effects?.[step.effect]
  // No unpaid message belongs to a paid order, so an effect that may end with an unpaid command has an unpaid order.
  const isLowPriority = effect?.outcomes.some((type) => isUnpaid(aggregate.contract.category, type)) ?? false
  const state = await context.paidFirst.run(isLowPriority, loadState)
  if (!isRequested(state)) return 'not-asked'
  if (!effect) throw new Error(`${aggregate.contract.category} has no effect "${step.effect}"`)
  const isStillRequested = async (): Promise<boolean> => isRequested(await loadState())
  // An effect inherits no priority from the message that started it.
  const runInLane = isLowPriority ? runWithLowPriority : runWithRegularPriority
  const outcome = await runInLane(() => effect.act(state, { id, ports: context.ports, signal: context.signal, isStillRequested }))
  hitCrashPoint(`${context.service}.${step.effect}.before-outcome`)
  if (!outcome) return 'nothing-new'
  const command = newCommand({
    // Tries with different outcomes get different ids, and tries with the same outcome get the same id.
    id: deriveId(key, outcome.type, JSON.stringify(outcome.data)),
    category: aggregate.contract.category,
    aggregateId: id,
    command: outcome,
    at: context.ports.clock.now(),
    correlation,
  })
  const { hasAppended } = await context.paidFirst.run(isLowPriority, () => context.decide(command))
  return hasAppended ? 'recorded' : 'nothing-new'
}
