import { contractOf } from '@penstock/contracts/all.ts'
import type { Command } from '@penstock/kernel/message.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
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
/** Where consumers ask a service for facts of its own that did not arrive. */
export const republishTopic = (service: string): string => `${service}.republish`

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

/** @param traceparent of the span that sends it, where there is one */
export const commandToBus = (command: CommandMessage, traceparent?: string): BusMessage => ({
  id: command.id,
  key: command.aggregateId,
  headers: { trace: command.trace, ...(traceparent !== undefined && { traceparent }) },
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
    ...traceHeader(event.meta),
  },
  body: `[${event.data},${event.meta}]`,
})

const TRACE_BEGINS = '"trace":"'
const TRACE_LENGTH = 32

/** For readers outside. The key is looked for as it is written: within a text its quotes would be escaped. */
function traceHeader(meta: string): { readonly trace?: string } {
  const at = meta.indexOf(TRACE_BEGINS)
  if (at < 0) return {}
  const start = at + TRACE_BEGINS.length
  return { trace: meta.slice(start, start + TRACE_LENGTH) }
}

export function factFromBus(message: BusMessage): StoredEvent | undefined {
  const { kind, stream, type, revision, position } = message.headers
  if (kind !== 'fact' || stream === undefined || type === undefined || revision === undefined || position === undefined)
    return undefined
  const [data, meta] = textsOf(message.body)
  return {
    id: message.id,
    stream,
    type,
    revision: Number(revision),
    position: BigInt(position),
    data,
    meta,
  }
}

/** Of a message that nobody has read. @returns undefined for what is no fact */
export const factPosition = ({ headers: { kind, position } }: BusMessage): bigint | undefined =>
  kind === 'fact' && position !== undefined ? BigInt(position) : undefined

/** How metadata begins behind the data. In a text its quotes would be escaped, and metadata has no objects in it. */
const META_BEGINS = ',{"v":'

/** The stored texts, cut out of a body as they are: whoever reads them parses them once. */
function textsOf(body: string): readonly [string, string] {
  const end = body.lastIndexOf(META_BEGINS)
  if (end < 0) throw new Bug('a published fact has no metadata')
  return [body.slice(1, end), body.slice(end + 1, -1)]
}
