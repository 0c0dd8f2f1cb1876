import { contractOf } from '@penstock/contracts/contracts.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { type CommandMessage, commandToBus, commandTopic } from './messages.ts'
import { type Attributes, streamAttributes, withSpan, type Tracing } from '../observability/tracing.ts'

/** Publishes a command for its owner. If traces are collected, the message contains the sending span. */
export function sendCommand(
  sender: string,
  bus: Bus,
  tracing: Tracing | undefined,
  command: CommandMessage,
  attributes: Attributes = {},
): Promise<void> {
  const { trace, type, category, aggregateId, correlation } = command
  const { owner } = contractOf(category)
  return withSpan(
    tracing,
    () => ({
      name: `send ${type}`,
      trace,
      kind: 'producer',
      attributes: { ...streamAttributes(owner, category, aggregateId, correlation), 'penstock.command': type, ...attributes },
    }),
    () => bus.publish(commandTopic(owner, sender), [commandToBus(command, tracing?.traceparent(trace))]),
  )
}
