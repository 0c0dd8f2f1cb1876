import type { Fact } from '@penstock/kernel/message.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { categoryOf, type EventStore, type StoredEvent } from '@penstock/ports/event-store.ts'
import { begunNames } from './audit-begun.ts'
import { CHAIN_START, expectedChain, factOf, type Meta, metaOf, stateHash } from './event-codec.ts'
import { lru } from './lru.ts'
import type { Aggregate, Service } from './service.ts'
import { TooNew } from './upcast.ts'

/** A place where a stream is not what it was, or what its own hashes say. */
export type Divergence = { readonly stream: string; readonly revision: number; readonly what: string }

/** What stands for the whole log where no stream can be named. */
export const WHOLE_LOG = 'log'

/** What was found so far. `foundFirst`: for what explains the others. */
export type Findings = {
  readonly found: (divergence: Divergence) => void
  readonly foundFirst: (divergence: Divergence) => void
  readonly isBroken: (stream: string) => boolean
}

/**
 * A stream as an audit folds it: without what the runtime keeps for commands. `open`: the command of an append whose last
 * event, the one with the state hash, is still to come.
 */
export type Folded = { readonly revision: number; readonly chain: string; readonly state: unknown; readonly open?: string }
/** The fold after one more event, and what the event said. */
export type Step = Folded & { readonly meta: Meta; readonly fact: Fact }

export type Aggregates = ReadonlyMap<string, Aggregate<never>>

export const aggregatesOf = (services: readonly Service<never>[]): Aggregates =>
  new Map(services.flatMap(({ aggregates }) => aggregates).map((aggregate) => [aggregate.contract.category, aggregate]))

export const unfolded = (aggregate: Aggregate<never>): Folded => ({
  revision: -1,
  chain: CHAIN_START,
  state: aggregate.decider.initial,
})

/** @throws Bug where today's code knows no such fact, or none at this place */
export function stepOf(aggregate: Aggregate<never>, before: Folded, event: StoredEvent): Step {
  const meta = metaOf(event)
  const fact = factOf(aggregate.contract, event, meta.v)
  const state = aggregate.decider.evolve(before.state, fact)
  const open = meta.state === undefined && { open: String(meta.command) }
  return { revision: event.revision, chain: meta.chain, state, ...open, meta, fact }
}

/** What is wrong with a stream that ends, or goes on with another append, where a state hash is still to come. */
export const unhashed = (stream: string, { revision }: Pick<Folded, 'revision'>): Divergence => ({
  stream,
  revision,
  what: 'the last event of its append has no state hash',
})

/** An error as a finding: our own sentence, or `otherwise` where the error is one of the language or of a library. */
const sentenceOf = (error: unknown, otherwise: string): string =>
  error instanceof Bug || error instanceof TooNew ? error.message : otherwise

const UNREADABLE = "its bytes cannot be read as a fact that today's code can fold"

/** Folds one more event and checks everything that it says of itself: its place, its chain hash, its state hash. */
export function checkedStep(aggregate: Aggregate<never>, before: Folded, event: StoredEvent): Step | Divergence {
  const next = before.revision + 1
  const wrong = (what: string, revision = event.revision): Divergence => ({ stream: event.stream, revision, what })
  if (event.revision > next) return wrong(`revision ${next} is missing`, next)
  if (event.revision !== next) return wrong(`revision ${event.revision} comes after revision ${before.revision}`)
  try {
    if (!event.meta.endsWith(`,"chain":"${expectedChain(before.chain, event)}"}`))
      return wrong('the chain hash does not cover the stored bytes')
    const step = stepOf(aggregate, before, event)
    const { state, at, command } = step.meta
    if (before.open !== undefined && before.open !== String(command)) return unhashed(event.stream, before)
    if (!Number.isSafeInteger(at)) return wrong('its metadata does not tell when it was recorded')
    if (state !== undefined && state !== hashedAgain(aggregate, step.state, state))
      return wrong('the facts fold to another state than the one that was hashed')
    return step
  } catch (error) {
    return wrong(sentenceOf(error, UNREADABLE))
  }
}

/**
 * By the version of the projection that was used then.
 * @throws TooNew where only a newer version of the code could tell
 */
function hashedAgain(aggregate: Aggregate<never>, state: unknown, recorded: string): string {
  const version = Number(recorded.slice(0, recorded.indexOf(':')))
  const project = aggregate.hashed.of[version]
  if (project) return stateHash(version, project(state))
  if (version > aggregate.hashed.version)
    throw new TooNew(`projection ${version}, by which this state of ${aggregate.contract.category} was hashed,`)
  return `no projection ${version}`
}

const FOLDS_KEPT = 4096
const PAGE = 500

/**
 * Folds of the streams that the log is about just now. What was not touched for long is dropped, so that memory does
 * not grow with the store, and folded again where its stream goes on.
 */
export function folds(store: Pick<EventStore, 'read'>) {
  const kept = lru<string, Folded>(FOLDS_KEPT)
  const begun = begunNames()
  return {
    /** The fold before an event; undefined where the stream has to be read for it. */
    kept: (aggregate: Aggregate<never>, { stream, revision }: StoredEvent): Folded | undefined =>
      kept.get(stream) ?? (revision === 0 && !begun.add(stream) ? unfolded(aggregate) : undefined),
    // Not the step: its fact would stay in memory with it.
    keep: (stream: string, { revision, chain, state, open }: Folded): void =>
      kept.set(stream, { revision, chain, state, ...(open !== undefined && { open }) }),
    drop: (stream: string): void => kept.delete(stream),
    /** The fold before an event, from the stream itself, which has to have this very event at its revision. */
    async before(aggregate: Aggregate<never>, event: StoredEvent): Promise<Folded | Divergence> {
      const wrong = (revision: number, what: string): Divergence => ({ stream: event.stream, revision, what })
      if (!Number.isSafeInteger(event.revision) || event.revision < 0) return wrong(event.revision, 'it is no revision')
      let folded = unfolded(aggregate)
      for (;;) {
        const count = Math.min(PAGE, event.revision - folded.revision)
        const page = await readable(store.read(event.stream, folded.revision + 1, count))
        if (typeof page === 'string') return wrong(folded.revision + 1, page)
        for (const stored of page) {
          if (stored.revision !== folded.revision + 1) break
          if (stored.revision === event.revision)
            return stored.position === event.position
              ? folded
              : wrong(event.revision, `revision ${event.revision} stands in the log twice`)
          try {
            folded = stepOf(aggregate, folded, stored)
          } catch (error) {
            return wrong(stored.revision, sentenceOf(error, UNREADABLE))
          }
        }
        if (page.length < PAGE || folded.revision < (page.at(-1)?.revision ?? -1))
          return wrong(folded.revision + 1, `revision ${folded.revision + 1} is missing`)
      }
    },
  }
}

/** @returns why nothing can be read, where the store says that its data are not as they should be */
async function readable(reading: Promise<readonly StoredEvent[]>): Promise<readonly StoredEvent[] | string> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Bug) return error.message
    throw error
  }
}

/** @returns the aggregate of an event's stream, or that nobody has it */
export const ownerOf = (aggregates: Aggregates, event: StoredEvent): Aggregate<never> | Divergence =>
  aggregates.get(categoryOf(event.stream)) ?? {
    stream: event.stream,
    revision: event.revision,
    what: 'no service owns this stream',
  }

export const isDivergence = (found: object): found is Divergence => 'what' in found
