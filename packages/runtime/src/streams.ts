import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { CHAIN_START, factOf, metaOf } from './event-codec.ts'
import { lru, STREAMS_UNDER_WAY } from './lru.ts'
import type { Aggregate } from './service.ts'

/** A stream's fold: the state that the domain made, and what the runtime keeps beside it. */
export type Loaded = {
  readonly state: unknown
  /** −1 where there is no stream yet. */
  readonly revision: number
  readonly chain: string
  /**
   * Commands that this stream has handled, with the revision after each; the newest `HANDLED_KEPT` of them. One map
   * serves all folds of a stream and only grows with what is stored, since copying it would cost more than the fold.
   */
  readonly handled: Map<string, number>
}

const PAGE = 1000
const HANDLED_KEPT = 4096

export const emptyStream = (aggregate: Aggregate<never>): Loaded => ({
  state: aggregate.decider.initial,
  revision: -1,
  chain: CHAIN_START,
  handled: new Map(),
})

/** The fold after one more stored event. */
export function afterStored(aggregate: Aggregate<never>, loaded: Loaded, event: StoredEvent): Loaded {
  const meta = metaOf(event)
  const state = aggregate.decider.evolve(loaded.state, factOf(aggregate.contract, event, meta.v))
  remember(loaded.handled, meta.command, event.revision)
  return { state, revision: event.revision, chain: meta.chain, handled: loaded.handled }
}

export function remember(handled: Map<string, number>, commandId: string, revision: number): void {
  handled.set(commandId, revision)
  if (handled.size > HANDLED_KEPT) handled.delete(handled.keys().next().value as string) // not empty: it is over its bound
}

/** Streams as they are now: read and folded once, then kept up with what this process appends. */
export type Streams = {
  /** As far as this process knows: enough where an append follows, which meets a conflict if others were first. */
  load(aggregate: Aggregate<never>, id: string): Promise<Loaded>
  /** With what others have appended since: for whoever acts without appending first. */
  fresh(aggregate: Aggregate<never>, id: string): Promise<Loaded>
  keep(stream: string, loaded: Loaded): void
  /** After a conflict: somebody else has appended. */
  forget(stream: string): void
}

export const streamOf = (aggregate: Aggregate<never>, id: string): string => `${aggregate.contract.category}-${id}`

/** `forgotten` is told of streams to which somebody else has appended. */
export function streams(store: EventStore, forgotten: (stream: string) => void): Streams {
  const cache = lru<string, Loaded>(STREAMS_UNDER_WAY)

  /** Never back: a read may end after an append of this process. */
  const keep = (stream: string, loaded: Loaded): Loaded => {
    const known = cache.get(stream)
    if (known && known.revision >= loaded.revision) return known
    if (loaded.revision >= 0) cache.set(stream, loaded)
    return loaded
  }
  const readOn = async (aggregate: Aggregate<never>, stream: string, from: Loaded): Promise<Loaded> => {
    for (let loaded = from; ;) {
      const page = await store.read(stream, loaded.revision + 1, PAGE)
      for (const event of page) loaded = afterStored(aggregate, loaded, event)
      if (page.length < PAGE) return loaded
    }
  }
  return {
    async load(aggregate, id) {
      const stream = streamOf(aggregate, id)
      return cache.get(stream) ?? keep(stream, await readOn(aggregate, stream, emptyStream(aggregate)))
    },
    async fresh(aggregate, id) {
      const stream = streamOf(aggregate, id)
      const known = cache.get(stream) ?? emptyStream(aggregate)
      const loaded = await readOn(aggregate, stream, known)
      if (loaded.revision > known.revision) forgotten(stream)
      return keep(stream, loaded)
    },
    keep: (stream, loaded) => void keep(stream, loaded),
    forget(stream) {
      cache.delete(stream)
      forgotten(stream)
    },
  }
}
