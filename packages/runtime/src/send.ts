import { contractOf } from '@penstock/contracts/all.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { type CommandMessage, commandToBus, commandTopic } from './messages.ts'
import { type Attributes, streamAttributes, traced, type Tracing } from './tracing.ts'

/** Puts a command on the bus for its owner. Where traces are collected it says which span sent it. */
export function sendCommand(
  bus: Bus,
  tracing: Tracing | undefined,
  command: CommandMessage,
  attributes: Attributes = {},
): Promise<void> {
  const { trace, type, category, aggregateId, correlation } = command
  const { owner } = contractOf(category)
  return traced(
    tracing,
    () => ({
      name: `send ${type}`,
      trace,
      kind: 'producer',
      attributes: { ...streamAttributes(owner, category, aggregateId, correlation), 'penstock.command': type, ...attributes },
    }),
    () => bus.publish(commandTopic(owner), [commandToBus(command, tracing?.traceparent(trace))]),
  )
}
