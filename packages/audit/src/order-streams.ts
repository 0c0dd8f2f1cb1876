import { contractOf, contracts, findContract } from '@penstock/contracts/contracts.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { readMeta } from '@penstock/runtime/commands/event-codec.ts'

/** Categories whose streams belong to one order and have its id. */
export const ownCategories: readonly string[] = contracts.flatMap(({ category, correlates }) =>
  correlates === 'order' ? [category] : [],
)
/** Maps fields of an order's facts to the categories of the streams that they identify: claims, and streams of several orders. */
const categoryByField: ReadonlyMap<string, string> = new Map(
  contracts.flatMap(({ category, relatedTo }) =>
    relatedTo?.subject === 'order' && relatedTo.field !== undefined ? [[relatedTo.field, category]] : [],
  ),
)

const PAGE = 500

/** A stream with events of an order. `relevant` are its events about the order, or all events if the stream is not shared. */
export type OrderStream = {
  readonly stream: string
  readonly isShared: boolean
  readonly events: readonly StoredEvent[]
  readonly relevant: readonly StoredEvent[]
}

/** @returns undefined if the store has no streams of the order */
export async function readOrderStreams(
  store: Pick<EventStore, 'read'>,
  orderId: string,
): Promise<readonly OrderStream[] | undefined> {
  const own = await Promise.all(ownCategories.map((category) => readWholeStream(store, `${category}-${orderId}`)))
  const existing = own.filter(({ events }) => events.length > 0)
  if (existing.length === 0) return undefined
  const names = findReferencedStreams(existing.flatMap(({ events }) => events))
  const referenced = await Promise.all([...names].toSorted().map((stream) => readWholeStream(store, stream)))
  const related = referenced.map(({ stream, events }): OrderStream => {
    const isShared = isSharedStream(stream)
    const relevant = events.filter((event) => isAboutOrder(orderId, event))
    return { stream, isShared, events, relevant: isShared ? relevant : relevant.length > 0 ? events : [] }
  })
  return [...existing, ...related.filter(({ relevant }) => relevant.length > 0)]
}

/** Whether a stream has facts of several orders. */
export const isSharedStream = (stream: string): boolean => findContract(categoryOf(stream))?.relatedTo?.isClaim === false

/** @returns the streams that the facts of an order's own streams refer to */
export function findReferencedStreams(events: readonly Pick<StoredEvent, 'data'>[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { data } of events) collectReferences(parseData(data), names)
  return names
}

async function readWholeStream(store: Pick<EventStore, 'read'>, stream: string): Promise<OrderStream> {
  const events: StoredEvent[] = []
  for (;;) {
    const page = await store.read(stream, events.length, PAGE)
    events.push(...page)
    if (page.length < PAGE) return { stream, isShared: false, events, relevant: events }
  }
}

/** Collects the streams that a fact refers to, at any depth. */
function collectReferences(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const category = categoryByField.get(key)
    if (category !== undefined && typeof inner === 'string') names.add(`${category}-${inner}`)
    else collectReferences(inner, names)
  }
}

/** Data that is not JSON refers to no stream; the fold reports it. */
function parseData(data: string): unknown {
  try {
    return JSON.parse(data) as unknown
  } catch {
    return null
  }
}

/** @returns true for an event that cannot be parsed, because it may be about any order */
export function isAboutOrder(orderId: string, event: Pick<StoredEvent, 'data' | 'meta'>): boolean {
  try {
    const { orderId: referenced } = JSON.parse(event.data) as { orderId?: unknown } // Facts are objects.
    return readMeta(event).correlation === orderId || referenced === orderId
  } catch {
    return true
  }
}

/** The version of each fact's shape in this code, for the streams of an order. */
export const listContractVersions = (streams: readonly string[]): Record<string, Record<string, number>> =>
  Object.fromEntries(
    [...new Set(streams.map(categoryOf))]
      .toSorted()
      .map((category) => [
        category,
        Object.fromEntries(Object.entries(contractOf(category).facts).map(([type, { v }]) => [type, v])),
      ]),
  )
