import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, Handled as BusHandled } from '@penstock/ports/bus.ts'
import { advance as makeAdvance, type Advance } from './advance.ts'
import type { Basics } from './basics.ts'
import { effects } from './effects.ts'
import { handle, type Handled, prepare } from './handle.ts'
import { commandsHandled } from './metrics.ts'
import {
  commandFromBus,
  type CommandMessage,
  commandToBus,
  commandTopic,
  eventTopic,
  newCommand,
  outcomeToBus,
} from './messages.ts'
import type { ReactContext } from './react.ts'
import type { Platform } from './platform.ts'
import type { Aggregate, Ask, SendOptions, Service, ServiceContext } from './service.ts'
import { type Streams, streamOf, streams as openStreams } from './streams.ts'
import { timerIndex } from './timer-index.ts'
import { turns } from './turns.ts'
import { type Unfinished, unfinished as openUnfinished } from './unfinished.ts'

const EFFECTS_END_WITHIN_MS = 3000

/** The heart of a running service: deciding at own streams and running their processes. */
export function serviceCore<Ports>(service: Service<Ports>, ports: Ports & Basics, platform: Platform, signal: AbortSignal) {
  const aggregates = new Map(service.aggregates.map((aggregate) => [aggregate.contract.category, aggregate]))
  const timers = timerIndex(platform.timers, service.name)
  const streams = openStreams(platform.store, (stream) => timers.forget(stream))
  const unfinished = openUnfinished(platform.views, service.name)
  const running = effects(ports, signal)
  const oneByOne = turns()
  const handler = { service: service.name, store: platform.store, streams, ports, signal }

  const decide = async (command: CommandMessage): Promise<Handled> => {
    const aggregate = owned(aggregates, service.name, command.category)
    const prepared = await prepare(handler, aggregate, command)
    const stream = streamOf(aggregate, command.aggregateId)
    const handled = await oneByOne(stream, () => handle(handler, aggregate, command, prepared))
    tellLog(ports, command, handled)
    const outcome = handled.outcome === 'accepted' && !handled.news ? 'repeated' : handled.outcome
    commandsHandled.inc({ service: service.name, outcome })
    if (handled.outcome === 'accepted') await advance(command.category, command.aggregateId)
    return handled
  }
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
  const context = contextOf({
    ports,
    bus: platform.bus,
    streams,
    unfinished,
    decide,
    advance,
    own: (category) => owned(aggregates, service.name, category),
  })
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
    decide,
    advance,
    async close() {
      // A call that does not come back is taken up at the next start, as after a crash.
      await Promise.race([running.close(), ports.clock.sleep(EFFECTS_END_WITHIN_MS)])
      await unfinished.flush(ports.clock.now())
    },
  }
}

type Parts<Ports> = {
  readonly ports: Ports & Basics
  readonly bus: Bus
  readonly streams: Streams
  readonly unfinished: Unfinished
  readonly decide: (command: CommandMessage) => Promise<Handled>
  readonly advance: Advance
  readonly own: (category: string) => Aggregate<Ports>
}

/** What a service's own loops may do. */
function contextOf<Ports>({ ports, bus, streams, unfinished, decide, advance, own }: Parts<Ports>): ServiceContext<Ports> {
  return {
    ports,
    decide: (ask, commandId) => decide(messageOf(ask, { commandId, correlation: ask.id }, ports)),
    send: (ask, options) =>
      bus.publish(commandTopic(contractOf(ask.category).owner), [commandToBus(messageOf(ask, options, ports))]),
    async load(category, id) {
      const { state, revision } = await streams.load(own(category), id)
      return { state, revision: revision < 0 ? 'none' : revision }
    },
    async unfinished(category) {
      const found = await unfinished.all([category], ports.clock.now())
      return found.map((stream) => stream.slice(category.length + 1))
    },
    advance: (category, id) => advance(category, id, { afresh: true }),
  }
}

/** Streams whose id is an order's; others are about an order when a message about one reached them. */
const ORDER_STREAMS: ReadonlySet<string> = new Set(['quote', 'order', 'match', 'settlement', 'channel'])

function tellLog(
  { log }: Basics,
  { type, category, aggregateId, correlation, trace }: CommandMessage,
  { news, ...became }: Handled,
): void {
  if (!news && became.outcome === 'accepted') return
  const order = ORDER_STREAMS.has(category) || correlation !== aggregateId ? { order: correlation } : {}
  log.info({ ...order, trace, command: type, stream: `${category}-${aggregateId}`, ...became }, 'a command was handled')
}

function owned<Ports>(aggregates: ReadonlyMap<string, Aggregate<Ports>>, service: string, category: string): Aggregate<Ports> {
  const aggregate = aggregates.get(category)
  if (!aggregate) throw new Error(`${service} does not own ${category}`)
  return aggregate
}

function messageOf(ask: Ask, options: SendOptions, { clock }: Basics): CommandMessage {
  const { commandId: id, correlation, at = clock.now(), notAfter } = options
  const { category, id: aggregateId, command } = ask
  return newCommand({ id, category, aggregateId, command, at, correlation, ...(notAfter !== undefined && { notAfter }) })
}

type Answering = Pick<ReturnType<typeof serviceCore>, 'service' | 'bus' | 'basics' | 'decide'>

/** A command from the bus. Where no fact will tell what became of it, an outcome does. */
export async function onCommand({ service, bus, basics, decide }: Answering, message: BusMessage): Promise<BusHandled> {
  try {
    const command = commandFromBus(message)
    const handled = await decide(command)
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
    if (error instanceof Fault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    basics.log.error({ key: message.key, reason, stack: error instanceof Error ? error.stack : undefined }, 'a command is parked')
    return { park: reason }
  }
}
