import { hash } from 'node:crypto'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { z } from 'zod'
import { parseHead } from './audit-heads.ts'
import { contractVersions, orderStreams, type OrderStream } from './audit-order.ts'
import { canonical } from './canonical.ts'
import { CHAIN_START, metaOf } from './event-codec.ts'

const event = z.strictObject({
  position: z.string().regex(/^\d+$/),
  revision: z.int().nonnegative(),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  meta: z.string(),
})

/** `previous`: the chain hash that the event builds on. A shared stream comes as an excerpt: its other events are of other orders. */
const stream = z.strictObject({
  stream: z.string().regex(/^[a-z]+-./),
  whole: z.boolean(),
  events: z.array(event.extend({ previous: z.string().regex(/^[0-9a-f]{64}$/) })).min(1),
})

const summary = z.strictObject({
  streams: z.int(),
  facts: z.int(),
  first_at: z.int(),
  last_at: z.int(),
  /** The last fact of each stream, which says how the order stands. */
  last: z.record(z.string(), z.string()),
  postings: z.array(z.unknown()),
})

/** One order as a file that proves itself. `digest` covers everything else in it. */
export const exportShape = z.strictObject({
  format: z.literal('penstock-order'),
  version: z.literal(1),
  order: z.string(),
  exported_at: z.int(),
  contracts: z.record(z.string(), z.record(z.string(), z.int())),
  summary,
  streams: z.array(stream).min(1),
  head: z.strictObject({ position: z.string(), events: z.int(), at: z.int(), hash: z.string() }).nullable(),
  digest: z.string(),
})
export type OrderExport = z.output<typeof exportShape>
export type ExportedStream = OrderExport['streams'][number]

/** @returns undefined where there is no such order */
export async function exportOrder(
  store: Pick<EventStore, 'read'>,
  orderId: string,
  at: number,
  newestHead?: string,
): Promise<OrderExport | undefined> {
  const found = await orderStreams(store, orderId)
  if (!found) return undefined
  const streams = found.map(exported)
  const head = newestHead === undefined ? null : parseHead(newestHead)
  const bare = {
    format: 'penstock-order' as const,
    version: 1 as const,
    order: orderId,
    exported_at: at,
    contracts: contractVersions(streams.map(({ stream }) => stream)),
    summary: summaryOf(streams),
    streams,
    head: head && { position: head.position, events: head.events, at: head.at, hash: head.hash },
  }
  return { ...bare, digest: digestOf(bare) }
}

const exported = ({ stream, isShared, events, about }: OrderStream): ExportedStream => ({
  stream,
  whole: !isShared,
  events: about.map(({ position, revision, id, type, data, meta }) => {
    const before: StoredEvent | undefined = events[revision - 1]
    return { position: `${position}`, revision, id, type, data, meta, previous: before ? metaOf(before).chain : CHAIN_START }
  }),
})

/** What the facts come to; whoever checks the file makes it again. */
export function summaryOf(streams: readonly ExportedStream[]): z.output<typeof summary> {
  const events = streams.flatMap((one) => one.events.map((event) => ({ ...event, stream: one.stream })))
  const times = events.map((event) => metaOf(event).at)
  return {
    streams: streams.length,
    facts: events.length,
    first_at: Math.min(...times),
    last_at: Math.max(...times),
    last: Object.fromEntries(streams.map(({ stream, events }) => [stream, events.at(-1)?.type ?? ''])),
    postings: events.filter(({ type }) => type === 'LedgerPosted').map(({ data }) => JSON.parse(data) as unknown),
  }
}

export const digestOf = (bare: Omit<OrderExport, 'digest'>): string => hash('sha256', canonical(bare))
