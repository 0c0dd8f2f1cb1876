import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { BusMessage, Handled as BusHandled } from '@penstock/ports/bus.ts'
import { advance as makeAdvance, type Advance } from './advance.ts'
import type { Basics } from './basics.ts'
import { effects } from './effects.ts'
import { underLease } from './lease.ts'
import { handle, type Handled, type HandlerContext, prepare } from './handle.ts'
import { commandsHandled, commandSeconds, messagesParked } from './metrics.ts'
import { commandFromBus, type CommandMessage, eventTopic, outcomeToBus } from './messages.ts'
import type { ReactContext } from './react.ts'
import type { Platform } from './platform.ts'
import type { Aggregate, Service, ServiceContext } from './service.ts'
import { contextOf } from './service-context.ts'
import { streamOf, streams as openStreams } from './streams.ts'
import { timerIndex } from './timer-index.ts'
import { spanIn } from './trace.ts'
import { orderOf, streamAttributes, type Told, traced } from './tracing.ts'
import { turns } from './turns.ts'
import { unfinished as openUnfinished } from './unfinished.ts'
import { TooNew } from './upcast.ts'
import { waits } from './waits.ts'

const EFFECTS_END_WITHIN_MS = 3000

/** The heart of a running service: deciding at own streams and running their processes. */
export function serviceCore<Ports>(service: Service<Ports>, ports: Ports & Basics, platform: Platform, signal: AbortSignal) {
  const aggregates = new Map(service.aggregates.map((aggregate) => [aggregate.contract.category, aggregate]))
  const timers = timerIndex(platform.timers, service.name)
  const streams = openStreams(platform.store, (stream) => timers.forget(stream))
  const unfinished = openUnfinished(platform.views, service.name)
  const running = effects(ports, signal)
  const own = (category: string) => owned(aggregates, service.name, category)
  const decideAlone = decider({ service: service.name, store: platform.store, streams, ports, signal }, own)

  const decide: Decide = (command, parent) =>
    traced(
      ports.tracing,
      () => spanOf(service.name, command, parent),
      async () => {
        const handled = await decideAlone(command)
        if (handled.outcome === 'accepted') await advance(command.category, command.aggregateId)
        return handled
      },
      toldOf,
    )
  const advance: Advance = makeAdvance({
    service: service.name,
    aggregates,
    streams,
    bus: platform.bus,
    timers,
    unfinished,
    effects: running,
    ports,
    signal,
    decide,
  })
  const alone: ServiceContext<Ports>['alone'] = (name, work, stop) => underLease(platform, `${service.name}.${name}`, work, stop)
  const context = contextOf({ ports, bus: platform.bus, streams, unfinished, decide, advance, own, alone })
  const reactContext: ReactContext = {
    service: service.name,
    owns: (category) => aggregates.has(category),
    bus: platform.bus,
    basics: ports,
    decide,
  }
  return {
    service: service.name,
    basics: ports as Basics,
    bus: platform.bus,
    context,
    reactContext,
    unfinished,
    contractOf: (category: string): Contract | undefined => aggregates.get(category)?.contract,
    decide,
    advance,
    async close() {
      // A call that does not come back is taken up at the next start, as after a crash.
      await Promise.race([running.close(), ports.clock.sleep(EFFECTS_END_WITHIN_MS)])
      await unfinished.flush(ports.clock.now())
    },
  }
}

/** `parent`: the span that sent it, where it came from elsewhere. */
type Decide = (command: CommandMessage, parent?: string) => Promise<Handled>

/** Decides one command after the other at each stream. */
function decider<Ports>(handler: HandlerContext<Ports>, own: (category: string) => Aggregate<Ports>): Decide {
  const { service, ports } = handler
  const oneByOne = turns()
  return async (command) => {
    const since = ports.clock.monotonicMs()
    const aggregate = own(command.category)
    const prepared = await prepare(handler, aggregate, command)
    const stream = streamOf(aggregate, command.aggregateId)
    const handled = await oneByOne(stream, () => handle(handler, aggregate, command, prepared))
    tellLog(ports, command, handled)
    commandsHandled.inc({ component: service, type: command.type, outcome: outcomeOf(handled) })
    commandSeconds.observe({ component: service }, (ports.clock.monotonicMs() - since) / 1000)
    return handled
  }
}

const outcomeOf = ({ outcome, news }: Handled) => (outcome === 'accepted' && !news ? 'repeated' : outcome)

const spanOf = (service: string, command: CommandMessage, parent: string | undefined) => ({
  name: `handle ${command.type}`,
  trace: command.trace,
  kind: 'consumer' as const,
  parent,
  attributes: {
    ...streamAttributes(service, command.category, command.aggregateId, command.correlation),
    'penstock.command': command.type,
  },
})

const toldOf = (handled: Handled): Told => ({
  attributes: {
    'penstock.outcome': outcomeOf(handled),
    ...(handled.outcome === 'accepted' ? { 'penstock.revision': handled.revision } : { 'penstock.refusal': handled.code }),
  },
  // A look at every block, for as long as a lease lasts, would bury what happened.
  isIdle: outcomeOf(handled) === 'repeated',
})

function tellLog(
  { log }: Basics,
  { type, category, aggregateId, correlation, trace }: CommandMessage,
  { news, ...became }: Handled,
): void {
  if (!news && became.outcome === 'accepted') return
  const order = orderOf(category, aggregateId, correlation)
  log.info({ ...order, trace, command: type, stream: `${category}-${aggregateId}`, ...became }, 'a command was handled')
}

function owned<Ports>(aggregates: ReadonlyMap<string, Aggregate<Ports>>, service: string, category: string): Aggregate<Ports> {
  const aggregate = aggregates.get(category)
  if (!aggregate) throw new Error(`${service} does not own ${category}`)
  return aggregate
}

type Answering = Pick<ReturnType<typeof serviceCore>, 'service' | 'bus' | 'basics' | 'decide' | 'contractOf'>

/**
 * Whether the service gives this command to its own streams only, and never by the bus: somebody else pretends to be it. One
 * of a newer version is for a newer process to say.
 */
function isOwn({ type, v }: CommandMessage, contract: Contract | undefined): boolean {
  const shape = contract?.commands[type]
  // A forged command may lack a version, or have one that is no number: neither makes it a newer one.
  const isNewer = v > (shape?.v ?? 0)
  return shape !== undefined && !isNewer && contract?.fromOthers.includes(type) === false
}

/** A command from the bus. Where no fact will tell what became of it, an outcome does. */
export async function onCommand(
  { service, bus, basics, decide, contractOf }: Answering,
  message: BusMessage,
): Promise<BusHandled> {
  try {
    const command = commandFromBus(message)
    if (isOwn(command, contractOf(command.category))) {
      basics.log.error(
        { command: command.type, stream: `${command.category}-${command.aggregateId}` },
        'a command came by the bus that the service gives itself alone; it is dropped',
      )
      return 'done'
    }
    const handled = await decide(command, spanIn(message.headers['traceparent'], command.trace))
    if (!handled.news) {
      const refused = handled.outcome === 'refused' ? { code: handled.code, message: handled.message } : null
      const revision = handled.outcome === 'accepted' ? handled.revision : 'none'
      const { id: commandId, category, aggregateId } = command
      await bus.publish(eventTopic(service), [
        outcomeToBus({ commandId, category, aggregateId, revision, refused, at: basics.clock.now() }),
      ])
    }
    return 'done'
  } catch (error) {
    if (error instanceof TooNew) waits(basics, service, message.key, error)
    if (error instanceof Fault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    messagesParked.inc({ consumer: service })
    basics.log.error({ key: message.key, reason, stack: error instanceof Error ? error.stack : undefined }, 'a command is parked')
    return { park: reason }
  }
}
