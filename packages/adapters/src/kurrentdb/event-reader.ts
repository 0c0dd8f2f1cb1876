import { withJitter } from '@penstock/kernel/backoff.ts'
import { systemChance } from '../system/chance.ts'
import {
  type Filter,
  FORWARDS,
  type ReadAllOptions,
  type ResolvedEvent,
  START,
  StreamNotFoundError,
  streamNameFilter,
  UnavailableError,
} from '@kurrent/kurrentdb-client'
import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { FoundEvent } from '../shared/idempotent-append.ts'
import { systemClock } from '../system/clock.ts'
import type { KurrentConnection } from './connection.ts'
import { UNKNOWN_POSITION } from './faults.ts'
import { isForeign, toStored } from './records.ts'

const PAGE_SIZE = 500
/** Number of refusals after which a position counts as unknown, if the start of the log can be read. */
const MAX_REFUSALS = 4
const REFUSED_WAIT_MS = 250
const UNHIDE_HINT = 'remove $maxCount, $maxAge and $tb from the metadata of this stream; nothing of it is lost before a scavenge'
const READ = { direction: FORWARDS, requiresLeader: true } as const

export const toStreamPrefixes = (categories: readonly string[]): string[] => categories.map((category) => `${category}-`)
const filterFor = (categories?: readonly string[]): Filter =>
  categories ? streamNameFilter({ prefixes: toStreamPrefixes(categories) }) : streamNameFilter({ regex: '^[^$]' })

/** Reads from the leader, so that a read sees every acknowledged append. Each page of a read has a timeout. */
export function createKurrentReader({ call }: KurrentConnection) {
  async function read(stream: string, from: number, max = Number.POSITIVE_INFINITY): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = []
    while (events.length < max) {
      const maxCount = Math.min(PAGE_SIZE, max - events.length)
      const fromRevision = BigInt(from + events.length)
      const page = await call(
        `a read of ${stream}`,
        ({ client, reader }) => collect<ResolvedEvent>(client.readStream(stream, { fromRevision, maxCount, ...READ, ...reader })),
        isNoStream,
      ).catch(emptyIfNoStream)
      const first = page[0]?.event?.revision ?? fromRevision
      assert(first === fromRevision, `the server hides events of ${stream} before revision ${first}: ${UNHIDE_HINT}`)
      events.push(...page.map(toStored))
      if (page.length < maxCount) break
    }
    return events
  }

  /** Reads events after a position. The server also returns the event at the position, which is dropped. */
  async function page(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
    if (categories?.length === 0) return []
    const events: StoredEvent[] = []
    let known = after
    while (events.length < max) {
      const maxCount = Math.min(PAGE_SIZE, max - events.length) + 1
      const fromPosition = known === 'start' ? START : { commit: known, prepare: known }
      // The client sends the filter to the server, although the type of these options lacks it.
      const options: ReadAllOptions & { filter: Filter } = { fromPosition, maxCount, ...READ, filter: filterFor(categories) }
      const readPage = () => call('a read of the log', ({ client, reader }) => collect(client.readAll({ ...options, ...reader })))
      const found = known === 'start' ? await readPage() : await readFromPosition(readPage)
      const fresh = found.filter(({ event }) => known === 'start' || (event && event.position.commit > known))
      events.push(...fresh.filter((event) => !isForeign(event)).map(toStored))
      known = found.at(-1)?.event?.position.commit ?? known
      if (found.length < maxCount) break
    }
    return events.slice(0, max)
  }

  /**
   * Servers before 24.10 report an unknown position like an unreachable server. So after each refusal the start of the log is
   * read: if that read succeeds, the server is reachable. One refusal proves nothing, because the server may become reachable in
   * between.
   */
  async function readFromPosition<T>(readPage: () => Promise<T>): Promise<T> {
    const atStart: ReadAllOptions = { fromPosition: START, maxCount: 1, ...READ }
    for (let refusals = 1; ; refusals++)
      try {
        return await readPage()
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await call('a read of the log', ({ client, reader }) => collect(client.readAll({ ...atStart, ...reader })))
        if (refusals === MAX_REFUSALS) throw new Bug(UNKNOWN_POSITION, { cause: error })
        await systemClock.sleep(withJitter(REFUSED_WAIT_MS, systemChance))
      }
  }

  return {
    read,
    page,
    /** @returns the events with these ids that the stream has, at any revision */
    async find(stream: string, ids: ReadonlySet<string>): Promise<readonly FoundEvent[]> {
      return (await read(stream, 0)).filter(({ id }) => ids.has(id))
    },
  }
}
export type KurrentReader = ReturnType<typeof createKurrentReader>

export async function collect<E>(found: AsyncIterable<E>): Promise<readonly E[]> {
  const all: E[] = []
  for await (const one of found) all.push(one)
  return all
}

const isUnavailable = (error: unknown): boolean => error instanceof Fault && error.cause instanceof UnavailableError

const isNoStream = (error: unknown): boolean => error instanceof StreamNotFoundError
function emptyIfNoStream(error: unknown): readonly [] {
  if (isNoStream(error)) return []
  throw error
}
