import { contractOf } from '@penstock/contracts/contracts.ts'
import type { Command } from '@penstock/kernel/message.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import type { BusMessage } from '@penstock/ports/bus.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { z } from 'zod'
import { deriveId, isDerivedId } from './derived-ids.ts'
import { isUnpaid } from './paid-first.ts'
import { deriveTraceId } from '../observability/trace-ids.ts'

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
  /** The owner drops the command if its turn comes after this instant. */
  readonly notAfter: number | null
  readonly correlation: string
  readonly trace: string
}

/** The outcome of a command without a fact: a refusal, or no change. */
export type OutcomeMessage = {
  readonly commandId: string
  readonly category: string
  readonly aggregateId: string
  readonly revision: number | 'none'
  readonly refused: { readonly code: string; readonly message: string } | null
  readonly at: number
}

/** Each sender has its own topic. A broker that authenticates its users thereby proves the sender of a command. */
export const commandTopic = (service: string, sender: string): string => `${service}.commands.${sender}`
export const eventTopic = (service: string): string => `${service}.events`
/** The topic on which consumers request facts of a service that did not arrive. */
export const republishTopic = (service: string): string => `${service}.republish`

/** Creates a command in the current version of its shape. */
export const newCommand = (parts: {
  readonly id: string
  readonly category: string
  readonly aggregateId: string
  readonly command: CommandBody<Command>
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
  trace: deriveTraceId(parts.correlation),
})

/** @param traceparent identifies the span that sends the command, if there is one */
export const commandToBus = (command: CommandMessage, traceparent?: string): BusMessage => ({
  id: command.id,
  key: command.aggregateId,
  headers: {
    trace: command.trace,
    ...(isUnpaid(command.category, command.type) && { unpaid: 'yes' }),
    ...(traceparent !== undefined && { traceparent }),
  },
  body: JSON.stringify(command),
})

const text = z.string().min(1).max(200)
/** These values reach the stored facts and their metadata, which every later release has to read. */
const commandShape: z.ZodType<CommandMessage> = z.object({
  id: text,
  category: text,
  aggregateId: text,
  type: text,
  // An invalid version becomes 0, which is never newer than the known version.
  v: z.int().positive().catch(0),
  data: z.record(z.string(), z.unknown()),
  at: z.int().nonnegative(),
  notAfter: z.int().nonnegative().nullable(),
  correlation: text,
  trace: z.string().regex(/^[0-9a-f]{32}$/),
})

/** @throws Bug if the message is not a command. The contract checks the command's data later. */
export function commandFromBus(sender: string, message: BusMessage): CommandMessage {
  const { success, data: command, error } = commandShape.safeParse(JSON.parse(message.body))
  if (!success) throw new Bug(`a message on a command topic is not a command: ${z.prettifyError(error)}`)
  return { ...command, id: namespacedId(sender, command.id) }
}

/**
 * The id under which the owner handles a command from the bus. Anyone can compute a derived id, so each sender has a
 * namespace. Its commands then cannot block commands of other senders. A random id is kept, because the sender waits for an
 * outcome with that id.
 */
export const namespacedId = (sender: string, id: string): string => (isDerivedId(id) ? deriveId('bus', sender, id) : id)
export const toCommand = ({ id, type, at, data }: CommandMessage): Command => ({ id, type, at, data })

export const outcomeToBus = (outcome: OutcomeMessage): BusMessage => ({
  id: outcome.commandId,
  key: outcome.aggregateId,
  headers: { kind: 'outcome' },
  body: JSON.stringify(outcome),
})

export const outcomeFromBus = (message: BusMessage): OutcomeMessage | undefined =>
  message.headers['kind'] === 'outcome' ? (JSON.parse(message.body) as OutcomeMessage) : undefined

/** A published fact contains its stored bytes, its stream, revision and position, and the previous revision. */
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

/** The trace header, for readers outside Penstock. A search finds the key, because a string would have escaped quotes. */
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
  const [data, meta] = splitBody(message.body)
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

/** The position of a fact, without reading its body. @returns undefined for other messages */
export const factPosition = ({ headers: { kind, position } }: BusMessage): bigint | undefined =>
  kind === 'fact' && position !== undefined ? BigInt(position) : undefined

/** The start of the metadata after the data. It is the last match, because metadata has no objects and strings escape quotes. */
const META_BEGINS = ',{"v":'

/** Cuts the stored texts out of a body unchanged, so that they are parsed only once. */
function splitBody(body: string): readonly [string, string] {
  const end = body.lastIndexOf(META_BEGINS)
  if (end < 0) throw new Bug('a published fact has no metadata')
  return [body.slice(1, end), body.slice(end + 1, -1)]
}

/** Facts and commands of unpaid orders have a lower priority than all others. */
export const isLowPriority = ({ headers: { kind, stream = '', type = '', unpaid } }: BusMessage): boolean =>
  kind === 'fact' ? isUnpaid(categoryOf(stream), type) : unpaid === 'yes'
