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
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Found } from '../shared/repeat.ts'
import { systemClock } from '../system/clock.ts'
import type { Connection } from './connection.ts'
import { NEVER_GIVEN } from './faults.ts'
import { isForeign, toStored } from './records.ts'

const PAGE = 500
/** Of a position, while the start of the log can be read. */
const REFUSALS = 4
const REFUSED_WAIT_MS = 250
const UNHIDE = 'remove $maxCount, $maxAge and $tb from the metadata of this stream; nothing of it is lost before a scavenge'
const READ = { direction: FORWARDS, requiresLeader: true } as const

export const ofCategories = (categories: readonly string[]): string[] => categories.map((category) => `${category}-`)
const filterFor = (categories?: readonly string[]): Filter =>
  categories ? streamNameFilter({ prefixes: ofCategories(categories) }) : streamNameFilter({ regex: '^[^$]' })

/** Reads from the leader: what it has acknowledged is seen by every later read. In pages, each with a deadline. */
export function eventReader({ call }: Connection) {
  async function read(stream: string, from: number, max = Number.POSITIVE_INFINITY): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = []
    while (events.length < max) {
      const maxCount = Math.min(PAGE, max - events.length)
      const fromRevision = BigInt(from + events.length)
      const page = await call(
        `a read of ${stream}`,
        ({ client, reader }) => gather<ResolvedEvent>(client.readStream(stream, { fromRevision, maxCount, ...READ, ...reader })),
        isNoStream,
      ).catch(nothingThere)
      const first = page[0]?.event?.revision ?? fromRevision
      must(first === fromRevision, `the server hides events of ${stream} before revision ${first}: ${UNHIDE}`)
      events.push(...page.map(toStored))
      if (page.length < maxCount) break
    }
    return events
  }

  /** A read begins at its position, so one more is asked for and what was known is dropped. */
  async function page(after: bigint | 'start', max: number, categories?: readonly string[]): Promise<readonly StoredEvent[]> {
    if (categories?.length === 0) return []
    const events: StoredEvent[] = []
    let known = after
    while (events.length < max) {
      const maxCount = Math.min(PAGE, max - events.length) + 1
      const fromPosition = known === 'start' ? START : { commit: known, prepare: known }
      // The filter goes through to the server, though the type of these options does not name it.
      const options: ReadAllOptions & { filter: Filter } = { fromPosition, maxCount, ...READ, filter: filterFor(categories) }
      const readThere = () => call('a read of the log', ({ client, reader }) => gather(client.readAll({ ...options, ...reader })))
      const found = known === 'start' ? await readThere() : await fromPlace(readThere)
      const fresh = found.filter(({ event }) => known === 'start' || (event && event.position.commit > known))
      events.push(...fresh.filter((event) => !isForeign(event)).map(toStored))
      known = found.at(-1)?.event?.position.commit ?? known
      if (found.length < maxCount) break
    }
    return events.slice(0, max)
  }

  /**
   * Servers before 24.10 say of a position that they never gave out what they also say when they are away. So the start of
   * the log is read after each of some tries: a server may go and come back between two of them.
   * @throws Bug where only the position is refused
   */
  async function fromPlace<T>(readThere: () => Promise<T>): Promise<T> {
    const atStart: ReadAllOptions = { fromPosition: START, maxCount: 1, ...READ }
    for (let refusals = 1; ; refusals++)
      try {
        return await readThere()
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await call('a read of the log', ({ client, reader }) => gather(client.readAll({ ...atStart, ...reader })))
        if (refusals === REFUSALS) throw new Bug(NEVER_GIVEN, { cause: error })
        await systemClock.sleep(REFUSED_WAIT_MS)
      }
  }

  return {
    read,
    page,
    /** Those of the events that the stream has, wherever it has them. */
    async find(stream: string, ids: ReadonlySet<string>): Promise<readonly Found[]> {
      return (await read(stream, 0)).filter(({ id }) => ids.has(id))
    },
  }
}
export type EventReader = ReturnType<typeof eventReader>

export async function gather<E>(found: AsyncIterable<E>): Promise<readonly E[]> {
  const all: E[] = []
  for await (const one of found) all.push(one)
  return all
}

const isUnavailable = (error: unknown): boolean => error instanceof Fault && error.cause instanceof UnavailableError

const isNoStream = (error: unknown): boolean => error instanceof StreamNotFoundError
function nothingThere(error: unknown): readonly [] {
  if (isNoStream(error)) return []
  throw error
}
