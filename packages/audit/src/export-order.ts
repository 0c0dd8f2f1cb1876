import { hash } from 'node:crypto'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { z } from 'zod'
import { parseHead } from './heads.ts'
import { listContractVersions, readOrderStreams, type OrderStream } from './order-streams.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import { CHAIN_START, readMeta } from '@penstock/runtime/commands/event-codec.ts'

const eventShape = z.strictObject({
  position: z.string().regex(/^\d+$/),
  revision: z.int().nonnegative(),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  meta: z.string(),
})

/** `previous`: the chain hash of the previous event. Without `whole`, the events are only those about the order. */
const streamShape = z.strictObject({
  stream: z.string().regex(/^[a-z]+-./),
  whole: z.boolean(),
  events: z.array(eventShape.extend({ previous: z.string().regex(/^[0-9a-f]{64}$/) })).min(1),
})

const summaryShape = z.strictObject({
  streams: z.int(),
  facts: z.int(),
  first_at: z.int(),
  last_at: z.int(),
  /** The type of each stream's last fact, which shows the state of the order. */
  last: z.record(z.string(), z.string()),
  postings: z.array(z.unknown()),
})

/** The file of an exported order. `digest` covers all other fields. */
export const exportShape = z.strictObject({
  format: z.literal('penstock-order'),
  version: z.literal(1),
  order: z.string(),
  exported_at: z.int(),
  contracts: z.record(z.string(), z.record(z.string(), z.int())),
  summary: summaryShape,
  streams: z.array(streamShape).min(1),
  head: z.strictObject({ position: z.string(), events: z.int(), at: z.int(), hash: z.string() }).nullable(),
  digest: z.string(),
})
export type OrderExport = z.output<typeof exportShape>
export type ExportedStream = OrderExport['streams'][number]

/** @returns undefined if the order does not exist */
export async function exportOrder(
  store: Pick<EventStore, 'read'>,
  orderId: string,
  at: number,
  newestHead?: string,
): Promise<OrderExport | undefined> {
  const found = await readOrderStreams(store, orderId)
  if (!found) return undefined
  const streams = found.map(toExportedStream)
  const head = newestHead === undefined ? null : parseHead(newestHead)
  const bare = {
    format: 'penstock-order' as const,
    version: 1 as const,
    order: orderId,
    exported_at: at,
    contracts: listContractVersions(streams.map(({ stream }) => stream)),
    summary: summarise(streams),
    streams,
    head: head && { position: head.position, events: head.events, at: head.at, hash: head.hash },
  }
  return { ...bare, digest: computeDigest(bare) }
}

const toExportedStream = ({ stream, isShared, events, relevant }: OrderStream): ExportedStream => ({
  stream,
  whole: !isShared,
  events: relevant.map(({ position, revision, id, type, data, meta }) => {
    const before: StoredEvent | undefined = events[revision - 1]
    return { position: `${position}`, revision, id, type, data, meta, previous: before ? readMeta(before).chain : CHAIN_START }
  }),
})

/** Derives the summary from the events. The check of a file derives it again. */
export function summarise(streams: readonly ExportedStream[]): z.output<typeof summaryShape> {
  const events = streams.flatMap((one) => one.events.map((event) => ({ ...event, stream: one.stream })))
  const times = events.map((event) => readMeta(event).at)
  return {
    streams: streams.length,
    facts: events.length,
    first_at: Math.min(...times),
    last_at: Math.max(...times),
    last: Object.fromEntries(streams.map(({ stream, events }) => [stream, events.at(-1)?.type ?? ''])),
    postings: events.filter(({ type }) => type === 'LedgerPosted').map(({ data }) => JSON.parse(data) as unknown),
  }
}

export const computeDigest = (bare: Omit<OrderExport, 'digest'>): string => hash('sha256', toCanonicalJson(bare))
