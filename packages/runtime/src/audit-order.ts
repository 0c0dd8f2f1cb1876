import { contractOf } from '@penstock/contracts/all.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { metaOf } from './event-codec.ts'

/** Streams that are about one order alone carry its id. */
export const OWN = ['quote', 'order', 'match', 'settlement', 'channel'] as const
/** What an order's facts name, and the streams of it: claims of the order, and streams that it shares with other orders. */
const NAMED: Readonly<Record<string, string>> = {
  paymentHash: 'payhash',
  outpoint: 'outpoint',
  offerId: 'offer',
  sellerPubkey: 'seller',
}

const PAGE = 500

/** A stream that an order is part of. `about`: those of its events that are about the order, all of them where it is the order's own. */
export type OrderStream = {
  readonly stream: string
  readonly isShared: boolean
  readonly events: readonly StoredEvent[]
  readonly about: readonly StoredEvent[]
}

/** @returns undefined where nothing is known of such an order */
export async function orderStreams(
  store: Pick<EventStore, 'read'>,
  orderId: string,
): Promise<readonly OrderStream[] | undefined> {
  const own = await Promise.all(OWN.map((category) => whole(store, `${category}-${orderId}`)))
  const there = own.filter(({ events }) => events.length > 0)
  if (there.length === 0) return undefined
  const names = namedBy(there.flatMap(({ events }) => events))
  const named = await Promise.all([...names].toSorted().map((stream) => whole(store, stream)))
  const touched = named.map(({ stream, events }): OrderStream => {
    const isShared = !CLAIMS.has(categoryOf(stream))
    const about = events.filter((event) => isAbout(orderId, event))
    return { stream, isShared, events, about: isShared ? about : about.length > 0 ? events : [] }
  })
  return [...there, ...touched.filter(({ about }) => about.length > 0)]
}

const CLAIMS: ReadonlySet<string> = new Set(['payhash', 'outpoint'])

/** The streams that facts of an order's own streams name. */
export function namedBy(events: readonly Pick<StoredEvent, 'data'>[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { data } of events) name(readable(data), names)
  return names
}

async function whole(store: Pick<EventStore, 'read'>, stream: string): Promise<OrderStream> {
  const events: StoredEvent[] = []
  for (;;) {
    const page = await store.read(stream, events.length, PAGE)
    events.push(...page)
    if (page.length < PAGE) return { stream, isShared: false, events, about: events }
  }
}

/** Collects the streams that a fact names, however deep. */
function name(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const category = NAMED[key]
    if (category !== undefined && typeof inner === 'string') names.add(`${category}-${inner}`)
    else name(inner, names)
  }
}

/** What cannot be read names nothing; the fold says where that is. */
function readable(data: string): unknown {
  try {
    return JSON.parse(data) as unknown
  } catch {
    return null
  }
}

/** An event that cannot be read may be about any order. */
export function isAbout(orderId: string, event: Pick<StoredEvent, 'data' | 'meta'>): boolean {
  try {
    const { orderId: named } = JSON.parse(event.data) as { orderId?: unknown } // facts are objects
    return metaOf(event).correlation === orderId || named === orderId
  } catch {
    return true
  }
}

/** Which version of each fact's shape this code knows, for the streams of an order. */
export const contractVersions = (streams: readonly string[]): Record<string, Record<string, number>> =>
  Object.fromEntries(
    [...new Set(streams.map(categoryOf))]
      .toSorted()
      .map((category) => [
        category,
        Object.fromEntries(Object.entries(contractOf(category).facts).map(([type, { v }]) => [type, v])),
      ]),
  )
