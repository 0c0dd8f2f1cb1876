import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { CHAIN_START, readFact, readMeta } from './event-codec.ts'
import { LRUCache } from 'lru-cache'
import { STREAM_CACHE_SIZE } from '../stream-cache-size.ts'
import type { Aggregate } from '../service.ts'

/** The fold of a stream: the state of its decider, and the runtime's own data. */
export type LoadedStream = {
  readonly state: unknown
  /** −1 if the stream does not exist yet. */
  readonly revision: number
  readonly chain: string
  /**
   * The newest `MAX_HANDLED` commands that this stream has handled, with the revision after each. All folds of a stream
   * share one map, because a copy would cost more than the fold.
   */
  readonly handled: Map<string, number>
}

const PAGE = 1000
const MAX_HANDLED = 4096

export const emptyStream = (aggregate: Aggregate<never>): LoadedStream => ({
  state: aggregate.decider.initial,
  revision: -1,
  chain: CHAIN_START,
  handled: new Map(),
})

/** The fold after one more stored event. */
export function foldStoredEvent(aggregate: Aggregate<never>, loaded: LoadedStream, event: StoredEvent): LoadedStream {
  const meta = readMeta(event)
  const state = aggregate.decider.evolve(loaded.state, readFact(aggregate.contract, event, meta.v))
  rememberCommand(loaded.handled, meta.command, event.revision)
  return { state, revision: event.revision, chain: meta.chain, handled: loaded.handled }
}

export function rememberCommand(handled: Map<string, number>, commandId: string, revision: number): void {
  handled.set(commandId, revision)
  if (handled.size > MAX_HANDLED) handled.delete(handled.keys().next().value as string) // Not empty, because it exceeds its limit
}

/** A cache of folded streams: each is read and folded once, and then updated by the appends of this process. */
export type StreamCache = {
  /** The fold as this process knows it. An append that follows gets a conflict if another process has appended. */
  load(aggregate: Aggregate<never>, id: string): Promise<LoadedStream>
  /** The fold with the newest events of other processes, for callers that act without an append. */
  loadFresh(aggregate: Aggregate<never>, id: string): Promise<LoadedStream>
  put(stream: string, loaded: LoadedStream): void
  /** Drops a fold after a conflict, because another process has appended. */
  forget(stream: string): void
}

export const streamNameOf = (aggregate: Aggregate<never>, id: string): string => `${aggregate.contract.category}-${id}`

/** @param onForget called with each stream to which another process has appended */
export function createStreamCache(store: EventStore, onForget: (stream: string) => void): StreamCache {
  const cache = new LRUCache<string, LoadedStream>({ max: STREAM_CACHE_SIZE })

  /** Never replaces a newer fold, because a read may end after an append of this process. */
  const keep = (stream: string, loaded: LoadedStream): LoadedStream => {
    const known = cache.get(stream)
    if (known && known.revision >= loaded.revision) return known
    if (loaded.revision >= 0) cache.set(stream, loaded)
    return loaded
  }
  const readNewer = async (aggregate: Aggregate<never>, stream: string, from: LoadedStream): Promise<LoadedStream> => {
    for (let loaded = from; ;) {
      const page = await store.read(stream, loaded.revision + 1, PAGE)
      for (const event of page) loaded = foldStoredEvent(aggregate, loaded, event)
      if (page.length < PAGE) return loaded
    }
  }
  return {
    async load(aggregate, id) {
      const stream = streamNameOf(aggregate, id)
      return cache.get(stream) ?? keep(stream, await readNewer(aggregate, stream, emptyStream(aggregate)))
    },
    async loadFresh(aggregate, id) {
      const stream = streamNameOf(aggregate, id)
      const known = cache.get(stream) ?? emptyStream(aggregate)
      const loaded = await readNewer(aggregate, stream, known)
      if (loaded.revision > known.revision) onForget(stream)
      return keep(stream, loaded)
    },
    put: (stream, loaded) => void keep(stream, loaded),
    forget(stream) {
      cache.delete(stream)
      onForget(stream)
    },
  }
}
