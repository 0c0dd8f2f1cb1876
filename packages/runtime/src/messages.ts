import { contractOf } from '@penstock/contracts/all.ts'
import type { Command } from '@penstock/kernel/message.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { aggregateIdOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { traceOf } from './trace.ts'

/** A command on the bus. */
export type CommandMessage = {
  readonly id: string
  readonly category: string
  readonly aggregateId: string
  readonly type: string
  /** The version of this type's shape. */
  readonly v: number
  readonly data: object
  readonly at: number
  /** The owner refuses it after this instant. */
  readonly notAfter: number | null
  readonly correlation: string
  readonly trace: string
}

/** What became of a command, where no fact tells it: a refusal, or nothing new. */
export type OutcomeMessage = {
  readonly commandId: string
  readonly category: string
  readonly aggregateId: string
  readonly revision: number | 'none'
  readonly refused: { readonly code: string; readonly message: string } | null
  readonly at: number
}

export const commandTopic = (service: string): string => `${service}.commands`
export const eventTopic = (service: string): string => `${service}.events`

/** A command in today's version of its shape. */
export const newCommand = (parts: {
  readonly id: string
  readonly category: string
  readonly aggregateId: string
  readonly command: Wanted<Command>
  readonly at: number
  readonly correlation: string
  readonly notAfter?: number
}): CommandMessage => ({
  id: parts.id,
  category: parts.category,
  aggregateId: parts.aggregateId,
  type: parts.command.type,
  v: contractOf(parts.category).commands[parts.command.type]?.v ?? 1,
  data: parts.command.data,
  at: parts.at,
  notAfter: parts.notAfter ?? null,
  correlation: parts.correlation,
  trace: traceOf(parts.correlation),
})

export const commandToBus = (command: CommandMessage): BusMessage => ({
  id: command.id,
  key: command.aggregateId,
  headers: { trace: command.trace },
  body: JSON.stringify(command),
})

// Bodies are written by this module; the receiver checks a command's data against its contract.
export const commandFromBus = (message: BusMessage): CommandMessage => JSON.parse(message.body) as CommandMessage
export const toDecide = ({ id, type, at, data }: CommandMessage): Command => ({ id, type, at, data })

export const outcomeToBus = (outcome: OutcomeMessage): BusMessage => ({
  id: outcome.commandId,
  key: outcome.aggregateId,
  headers: { kind: 'outcome' },
  body: JSON.stringify(outcome),
})

export const outcomeFromBus = (message: BusMessage): OutcomeMessage | undefined =>
  message.headers['kind'] === 'outcome' ? (JSON.parse(message.body) as OutcomeMessage) : undefined

/** A published fact carries its stored bytes, its place, and that of the fact before it. */
export const factToBus = (event: StoredEvent): BusMessage => ({
  id: event.id,
  key: aggregateIdOf(event.stream),
  headers: {
    kind: 'fact',
    stream: event.stream,
    type: event.type,
    revision: `${event.revision}`,
    previous: `${event.revision - 1}`,
    position: `${event.position}`,
  },
  body: `[${event.data},${event.meta}]`,
})

export function factFromBus(message: BusMessage): StoredEvent | undefined {
  const { kind, stream, type, revision, position } = message.headers
  if (kind !== 'fact' || stream === undefined || type === undefined || revision === undefined || position === undefined)
    return undefined
  const [data, meta] = JSON.parse(message.body) as [unknown, unknown]
  return {
    id: message.id,
    stream,
    type,
    revision: Number(revision),
    position: BigInt(position),
    data: JSON.stringify(data),
    meta: JSON.stringify(meta),
  }
}
