import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import { createProcessRunner, type ProcessRunner } from './processes/run-process.ts'
import type { BasePorts } from './base-ports.ts'
import { createEffectRunner } from './processes/effects.ts'
import { runUnderLease } from './processes/lease.ts'
import { handleCommand, type HandledCommand, type HandlerContext, prepareCommand } from './commands/handle-command.ts'
import { commandsDropped, commandsHandled, commandsLate, commandSeconds, messagesParked } from './observability/metrics.ts'
import { commandFromBus, type CommandMessage, eventTopic, outcomeToBus } from './commands/messages.ts'
import { isUnpaid, paidFirstOf } from './commands/paid-first.ts'
import { createAcknowledgements } from './consumers/acknowledgements.ts'
import type { ReactorContext } from './consumers/react.ts'
import type { Platform } from './platform.ts'
import type { Aggregate, Service, ServiceContext } from './service.ts'
import { createServiceContext } from './service-context.ts'
import { streamNameOf, createStreamCache } from './commands/stream-cache.ts'
import { createTimerIndex } from './processes/timer-index.ts'
import { parseSpanId } from './observability/trace-ids.ts'
import { subjectFieldOf, streamAttributes, type SpanResult, withSpan } from './observability/tracing.ts'
import { createKeyedMutex } from '@penstock/kernel/mutex.ts'
import { trackHandledCommands } from './processes/handled-commands.ts'
import { trackOpenStreams } from './processes/open-streams.ts'
import { NewerVersionFault } from './commands/upcast.ts'
import { reportNewerVersion } from './commands/newer-version.ts'

const EFFECTS_END_WITHIN_MS = 3000

/** Creates the core of a running service, which decides commands at its own streams and runs their processes. */
export function createServiceRuntime<Ports>(
  service: Service<Ports>,
  ports: Ports & BasePorts,
  platform: Platform,
  signal: AbortSignal,
) {
  const aggregates = new Map(service.aggregates.map((aggregate) => [aggregate.contract.category, aggregate]))
  const timers = createTimerIndex(platform.timers, service.name)
  const streams = createStreamCache(platform.store, (stream) => timers.forget(stream))
  const openStreams = trackOpenStreams(platform.views, service.name)
  const hasSentUntilHandled = service.aggregates.some(({ sentUntilHandled = [] }) => sentUntilHandled.length > 0)
  const handledCommands = hasSentUntilHandled ? trackHandledCommands(platform.views, service.name) : undefined
  const running = createEffectRunner(ports, signal)
  const own = (category: string) => findAggregate(aggregates, service.name, category)
  const decideAtStream = createCommandDecider({ service: service.name, store: platform.store, streams, ports, signal }, own)

  const decide: Decide = (command, parent) =>
    withSpan(
      ports.tracing,
      () => describeSpan(service.name, command, parent),
      async () => {
        const handled = await decideAtStream(command)
        if (handled.outcome === 'accepted') await runProcess(command.category, command.aggregateId)
        return handled
      },
      toSpanResult,
    )
  const paidFirst = paidFirstOf(platform.bus, ports.clock)
  const shared = { service: service.name, ports, bus: platform.bus, streams, openStreams, handledCommands, paidFirst, decide }
  const runProcess: ProcessRunner = createProcessRunner({ ...shared, aggregates, timers, effects: running, signal })
  const withLease: ServiceContext<Ports>['withLease'] = (name, work, stop) =>
    runUnderLease(platform, `${service.name}.${name}`, work, stop)
  const context = createServiceContext({ ...shared, runProcess, findAggregate: own, withLease })
  const reactContext: ReactorContext = {
    service: service.name,
    owns: (category) => aggregates.has(category),
    acknowledgements: handledCommands && createAcknowledgements(service.aggregates, handledCommands),
    bus: platform.bus,
    basePorts: ports,
    decide,
  }
  return {
    service: service.name,
    basePorts: ports as BasePorts,
    bus: platform.bus,
    paidFirst,
    context,
    reactContext,
    openStreams,
    handledCommands,
    timerIndex: timers,
    contractOf: (category: string): Contract | undefined => aggregates.get(category)?.contract,
    decide,
    advance: runProcess,
    async close() {
      // The next start continues an effect that does not end in time, as after a crash.
      await Promise.race([running.close(), ports.clock.sleep(EFFECTS_END_WITHIN_MS)])
      await openStreams.flush(ports.clock.now())
      await handledCommands?.flush(ports.clock.now())
    },
  }
}

/** `parent` is the span that sent the command, if it came from the bus. */
type Decide = (command: CommandMessage, parent?: string) => Promise<HandledCommand>

/** Creates a function that decides the commands of each stream sequentially. */
function createCommandDecider<Ports>(handler: HandlerContext<Ports>, own: (category: string) => Aggregate<Ports>): Decide {
  const { service, ports } = handler
  const mutex = createKeyedMutex()
  return async (command) => {
    const since = ports.clock.monotonicMs()
    const aggregate = own(command.category)
    const prepared = await prepareCommand(handler, aggregate, command)
    const stream = streamNameOf(aggregate, command.aggregateId)
    const handled = await mutex(stream, () => handleCommand(handler, aggregate, command, prepared))
    logHandled(ports, command, handled)
    commandsHandled.inc({ component: service, type: command.type, outcome: outcomeLabel(handled) })
    commandSeconds.observe({ component: service }, (ports.clock.monotonicMs() - since) / 1000)
    return handled
  }
}

const outcomeLabel = ({ outcome, hasAppended }: HandledCommand) => (outcome === 'accepted' && !hasAppended ? 'repeated' : outcome)

const describeSpan = (service: string, command: CommandMessage, parent: string | undefined) => ({
  name: `handle ${command.type}`,
  trace: command.trace,
  kind: 'consumer' as const,
  parent,
  attributes: {
    ...streamAttributes(service, command.category, command.aggregateId, command.correlation),
    'penstock.command': command.type,
  },
})

const toSpanResult = (handled: HandledCommand): SpanResult => ({
  attributes: {
    'penstock.outcome': outcomeLabel(handled),
    ...(handled.outcome === 'accepted' ? { 'penstock.revision': handled.revision } : { 'penstock.refusal': handled.code }),
  },
  // Otherwise a command that is repeated at every block of a channel lease would hide the spans that matter.
  isIdle: outcomeLabel(handled) === 'repeated',
})

function logHandled(
  { log }: BasePorts,
  { type, category, aggregateId, correlation, trace }: CommandMessage,
  { hasAppended, ...result }: HandledCommand,
): void {
  if (!hasAppended && result.outcome === 'accepted') return
  const subject = subjectFieldOf(category, aggregateId, correlation)
  log.info({ ...subject, trace, command: type, stream: `${category}-${aggregateId}`, ...result }, 'a command was handled')
}

function findAggregate<Ports>(
  aggregates: ReadonlyMap<string, Aggregate<Ports>>,
  service: string,
  category: string,
): Aggregate<Ports> {
  const aggregate = aggregates.get(category)
  if (!aggregate) throw new Error(`${service} does not own ${category}`)
  return aggregate
}

type CommandReceiver = Pick<
  ReturnType<typeof createServiceRuntime>,
  'service' | 'bus' | 'basePorts' | 'paidFirst' | 'decide' | 'contractOf'
>

/**
 * Whether the sender never sends this command, and so impersonates another service or the owner itself. For a command of a
 * newer version, only a newer process can decide this.
 */
function isForged(sender: string, { type, v }: CommandMessage, contract: Contract | undefined): boolean {
  const shape = contract?.commands[type]
  const isNewer = v > (shape?.v ?? 0)
  return shape !== undefined && !isNewer && shape.from?.includes(sender) !== true
}

/** Handles a command from the bus. The topic proves its sender. If no fact reports the result, an outcome message does. */
export async function receiveCommand(
  { service, bus, basePorts, paidFirst, decide, contractOf }: CommandReceiver,
  sender: string,
  message: BusMessage,
): Promise<HandlerResult> {
  try {
    const command = commandFromBus(sender, message)
    if (isForged(sender, command, contractOf(command.category))) {
      commandsDropped.inc({ component: service, sender })
      basePorts.log.error(
        { sender, command: command.type, stream: `${command.category}-${command.aggregateId}` },
        'a command came by the bus that its sender never sends; it is dropped',
      )
      return 'done'
    }
    // The sender no longer waits. The command is dropped before any work, because late commands mean too much work.
    if (command.notAfter !== null && basePorts.clock.now() > command.notAfter) {
      // A sender may invent types, and a metric stores each label for ever.
      const isKnown = contractOf(command.category)?.commands[command.type] !== undefined
      commandsLate.inc({ component: service, type: isKnown ? command.type : 'unknown' })
      return 'done'
    }
    const handled = await paidFirst.run(isUnpaid(command.category, command.type), () =>
      decide(command, parseSpanId(message.headers['traceparent'], command.trace)),
    )
    if (!handled.hasAppended) {
      const refusal = handled.outcome === 'refused' ? { code: handled.code, message: handled.message } : null
      const revision = handled.outcome === 'accepted' ? handled.revision : 'none'
      const { id: commandId, category, aggregateId } = command
      await bus.publish(eventTopic(service), [
        outcomeToBus({ commandId, category, aggregateId, revision, refused: refusal, at: basePorts.clock.now() }),
      ])
    }
    return 'done'
  } catch (error) {
    if (error instanceof NewerVersionFault) reportNewerVersion(basePorts, service, message.key, error)
    if (error instanceof Fault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    messagesParked.inc({ consumer: service })
    basePorts.log.error(
      { key: message.key, reason, stack: error instanceof Error ? error.stack : undefined },
      'a command is parked',
    )
    return { park: reason }
  }
}
