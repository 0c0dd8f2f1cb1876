import type { Bus } from '@penstock/ports/bus.ts'
import type { ProcessRunner } from './processes/run-process.ts'
import type { BasePorts } from './base-ports.ts'
import type { HandledCommand } from './commands/handle-command.ts'
import { type CommandMessage, newCommand } from './commands/messages.ts'
import { isUnpaid, type PaidPriorityScheduler } from './commands/paid-first.ts'
import { sendCommand } from './commands/send-command.ts'
import type { Aggregate, SendOptions, ServiceContext } from './service.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import type { StreamCache } from './commands/stream-cache.ts'
import type { OpenStreams } from './processes/open-streams.ts'

type ServiceContextParts<Ports> = {
  readonly service: string
  readonly ports: Ports & BasePorts
  readonly bus: Bus
  readonly streams: StreamCache
  readonly openStreams: OpenStreams
  readonly paidFirst: PaidPriorityScheduler
  readonly decide: (command: CommandMessage) => Promise<HandledCommand>
  readonly runProcess: ProcessRunner
  readonly findAggregate: (category: string) => Aggregate<Ports>
  readonly withLease: ServiceContext<Ports>['withLease']
}

/** Creates the operations that a service's own jobs may use. */
export function createServiceContext<Ports>(parts: ServiceContextParts<Ports>): ServiceContext<Ports> {
  const { service, ports, bus, streams, openStreams, paidFirst, decide, runProcess, findAggregate, withLease } = parts
  return {
    ports,
    decide(request, commandId) {
      const message = toCommandMessage(request, { commandId, correlation: request.id }, ports)
      return paidFirst.run(isUnpaid(message.category, message.type), () => decide(message))
    },
    send: (request, options) => sendCommand(service, bus, ports.tracing, toCommandMessage(request, options, ports)),
    async load(category, id) {
      const { state, revision } = await streams.loadFresh(findAggregate(category), id)
      return { state, revision: revision < 0 ? 'none' : revision }
    },
    async listOpenStreams(category) {
      const found = await openStreams.listAll([category], ports.clock.now())
      return found.map((stream) => stream.slice(category.length + 1))
    },
    runProcess: (category, id) => runProcess(category, id, { isReset: true }),
    withLease,
  }
}

function toCommandMessage(request: AddressedCommand, options: SendOptions, { clock }: BasePorts): CommandMessage {
  const { commandId: id, correlation, at = clock.now(), notAfter } = options
  const { category, id: aggregateId, command } = request
  return newCommand({ id, category, aggregateId, command, at, correlation, ...(notAfter !== undefined && { notAfter }) })
}
