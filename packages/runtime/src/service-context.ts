import type { Bus } from '@penstock/ports/bus.ts'
import type { Advance } from './advance.ts'
import type { Basics } from './basics.ts'
import type { Handled } from './handle.ts'
import { type CommandMessage, newCommand } from './messages.ts'
import { sendCommand } from './send.ts'
import type { Aggregate, Ask, SendOptions, ServiceContext } from './service.ts'
import type { Streams } from './streams.ts'
import type { Unfinished } from './unfinished.ts'

type Parts<Ports> = {
  readonly ports: Ports & Basics
  readonly bus: Bus
  readonly streams: Streams
  readonly unfinished: Unfinished
  readonly decide: (command: CommandMessage) => Promise<Handled>
  readonly advance: Advance
  readonly own: (category: string) => Aggregate<Ports>
  readonly alone: ServiceContext<Ports>['alone']
}

/** What a service's own loops may do. */
export function contextOf<Ports>(parts: Parts<Ports>): ServiceContext<Ports> {
  const { ports, bus, streams, unfinished, decide, advance, own, alone } = parts
  return {
    ports,
    decide: (ask, commandId) => decide(messageOf(ask, { commandId, correlation: ask.id }, ports)),
    send: (ask, options) => sendCommand(bus, ports.tracing, messageOf(ask, options, ports)),
    async load(category, id) {
      const { state, revision } = await streams.fresh(own(category), id)
      return { state, revision: revision < 0 ? 'none' : revision }
    },
    async unfinished(category) {
      const found = await unfinished.all([category], ports.clock.now())
      return found.map((stream) => stream.slice(category.length + 1))
    },
    advance: (category, id) => advance(category, id, { afresh: true }),
    alone,
  }
}

function messageOf(ask: Ask, options: SendOptions, { clock }: Basics): CommandMessage {
  const { commandId: id, correlation, at = clock.now(), notAfter } = options
  const { category, id: aggregateId, command } = ask
  return newCommand({ id, category, aggregateId, command, at, correlation, ...(notAfter !== undefined && { notAfter }) })
}
