import type { Fact } from '@penstock/kernel/message.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { categoryOf } from '@penstock/kernel/stream-name.ts'
import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { createBloomFilter } from './bloom-filter.ts'
import {
  CHAIN_START,
  computeExpectedChain,
  readFact,
  type EventMeta,
  readMeta,
  hashState,
} from '@penstock/runtime/commands/event-codec.ts'
import { LRUCache } from 'lru-cache'
import type { Aggregate, Service } from '@penstock/runtime/service.ts'
import { NewerVersionFault } from '@penstock/runtime/commands/upcast.ts'

/** A revision at which a stream differs from its former contents, or from its own hashes. */
export type Divergence = { readonly stream: string; readonly revision: number; readonly what: string }

/** The stream name of findings about the whole log. */
export const WHOLE_LOG = 'log'

/** The findings so far. `reportFirst` puts a finding that explains the others first. */
export type Findings = {
  readonly report: (divergence: Divergence) => void
  readonly reportFirst: (divergence: Divergence) => void
  readonly isBroken: (stream: string) => boolean
}

/**
 * The fold of a stream up to a revision. The last event of each append has a state hash. Until that event is folded, `open`
 * is the id of the append's command.
 */
export type FoldedStream = { readonly revision: number; readonly chain: string; readonly state: unknown; readonly open?: string }
/** The fold after one more event, with the metadata and the fact of that event. */
export type FoldStep = FoldedStream & { readonly meta: EventMeta; readonly fact: Fact }

export type Aggregates = ReadonlyMap<string, Aggregate<never>>

export const indexAggregates = (services: readonly Service<never>[]): Aggregates =>
  new Map(services.flatMap(({ aggregates }) => aggregates).map((aggregate) => [aggregate.contract.category, aggregate]))

export const emptyFold = (aggregate: Aggregate<never>): FoldedStream => ({
  revision: -1,
  chain: CHAIN_START,
  state: aggregate.decider.initial,
})

/** @throws Bug if today's code does not know the fact, or does not expect it at this revision */
export function foldEvent(aggregate: Aggregate<never>, before: FoldedStream, event: StoredEvent): FoldStep {
  const meta = readMeta(event)
  const fact = readFact(aggregate.contract, event, meta.v)
  const state = aggregate.decider.evolve(before.state, fact)
  const open = meta.state === undefined && { open: String(meta.command) }
  return { revision: event.revision, chain: meta.chain, state, ...open, meta, fact }
}

/** The divergence of a stream that ends, or continues with another append, before an append's state hash. */
export const missingStateHash = (stream: string, { revision }: Pick<FoldedStream, 'revision'>): Divergence => ({
  stream,
  revision,
  what: 'the last event of its append has no state hash',
})

/** @returns the message of an error of our own, or `otherwise` for an error of JavaScript or a library */
const describeError = (error: unknown, otherwise: string): string =>
  error instanceof Bug || error instanceof NewerVersionFault ? error.message : otherwise

const UNREADABLE = "its bytes cannot be read as a fact that today's code can fold"

/** Folds one more event and checks its revision, its chain hash and its state hash. */
export function foldChecked(aggregate: Aggregate<never>, before: FoldedStream, event: StoredEvent): FoldStep | Divergence {
  const next = before.revision + 1
  const wrong = (what: string, revision = event.revision): Divergence => ({ stream: event.stream, revision, what })
  if (event.revision > next) return wrong(`revision ${next} is missing`, next)
  if (event.revision !== next) return wrong(`revision ${event.revision} comes after revision ${before.revision}`)
  try {
    if (!event.meta.endsWith(`,"chain":"${computeExpectedChain(before.chain, event)}"}`))
      return wrong('the chain hash does not cover the stored bytes')
    const step = foldEvent(aggregate, before, event)
    const { state, at, command } = step.meta
    if (before.open !== undefined && before.open !== String(command)) return missingStateHash(event.stream, before)
    if (!Number.isSafeInteger(at)) return wrong('its metadata has no valid timestamp')
    if (state !== undefined && state !== rehashState(aggregate, step.state, state))
      return wrong('the facts fold to another state than the one that was hashed')
    return step
  } catch (error) {
    return wrong(describeError(error, UNREADABLE))
  }
}

/**
 * Hashes the state by the projection version of the recorded hash.
 * @throws NewerVersionFault if only a newer version of the code has that projection
 */
function rehashState(aggregate: Aggregate<never>, state: unknown, recorded: string): string {
  const version = Number(recorded.slice(0, recorded.indexOf(':')))
  const project = aggregate.hashed.projections[version]
  if (project) return hashState(version, project(state))
  if (version > aggregate.hashed.version)
    throw new NewerVersionFault(`projection ${version}, by which this state of ${aggregate.contract.category} was hashed,`)
  return `no projection ${version}`
}

const FOLD_CACHE_SIZE = 4096
const PAGE = 500

/**
 * Caches the folds of recently read streams. The least recently used folds are dropped, so that memory does not grow with
 * the store. A dropped fold is made again when a later event of its stream is read.
 */
export function createFoldCache(store: Pick<EventStore, 'read'>) {
  const kept = new LRUCache<string, FoldedStream>({ max: FOLD_CACHE_SIZE })
  const startedStreams = createBloomFilter()
  return {
    /** The fold before an event; undefined if the caller has to read the stream (`readBefore`). */
    kept: (aggregate: Aggregate<never>, { stream, revision }: StoredEvent): FoldedStream | undefined =>
      kept.get(stream) ?? (revision === 0 && !startedStreams.add(stream) ? emptyFold(aggregate) : undefined),
    // Only these fields are stored, because the fact of a whole step would stay in memory.
    keep(stream: string, { revision, chain, state, open }: FoldedStream): void {
      kept.set(stream, { revision, chain, state, ...(open !== undefined && { open }) })
    },
    drop(stream: string): void {
      kept.delete(stream)
    },
    /** Folds the stream from the store up to the event, and checks that the stream has the event at the event's revision. */
    async readBefore(aggregate: Aggregate<never>, event: StoredEvent): Promise<FoldedStream | Divergence> {
      const wrong = (revision: number, what: string): Divergence => ({ stream: event.stream, revision, what })
      if (!Number.isSafeInteger(event.revision) || event.revision < 0) return wrong(event.revision, 'it is not a valid revision')
      let folded = emptyFold(aggregate)
      for (;;) {
        const count = Math.min(PAGE, event.revision - folded.revision)
        const page = await readPage(store.read(event.stream, folded.revision + 1, count))
        if (typeof page === 'string') return wrong(folded.revision + 1, page)
        for (const stored of page) {
          if (stored.revision !== folded.revision + 1) break
          if (stored.revision === event.revision)
            return stored.position === event.position
              ? folded
              : wrong(event.revision, `revision ${event.revision} is in the log twice`)
          try {
            folded = foldEvent(aggregate, folded, stored)
          } catch (error) {
            return wrong(stored.revision, describeError(error, UNREADABLE))
          }
        }
        if (page.length < PAGE || folded.revision < (page.at(-1)?.revision ?? -1))
          return wrong(folded.revision + 1, `revision ${folded.revision + 1} is missing`)
      }
    },
  }
}

/** @returns the events, or the message of the Bug that the store throws about its data */
async function readPage(reading: Promise<readonly StoredEvent[]>): Promise<readonly StoredEvent[] | string> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Bug) return error.message
    throw error
  }
}

/** @returns the aggregate of an event's stream, or a divergence if no service owns the stream */
export const aggregateOf = (aggregates: Aggregates, event: StoredEvent): Aggregate<never> | Divergence =>
  aggregates.get(categoryOf(event.stream)) ?? {
    stream: event.stream,
    revision: event.revision,
    what: 'no service owns this stream',
  }

export const isDivergence = (found: object): found is Divergence => 'what' in found
