import type { StoredEvent } from '@penstock/ports/event-store.ts'
import type { Divergence } from './audit-fold.ts'
import { type Head, type HeadLog, isSigned, NO_HEAD, readHead, segment, type Unproven, unprovenBy } from './audit-heads.ts'
import { metaOf } from './event-codec.ts'

/** What stands for the whole log where no stream can be named. */
const WHOLE_LOG = 'log'

export type HeadsReport = {
  /** How many heads were compared, and when the first and the last of them were written (milliseconds since 1970). */
  readonly heads: number
  readonly first_at: number | null
  readonly last_at: number | null
  /** Whether the audit key was there to tell who wrote them. */
  readonly signed: boolean
  /** Events after the last head: for these, nothing tells whether the last ones of a stream were removed. */
  readonly events_after: number
  /**
   * How much time lies between the earliest and the latest of these, a command that had waited counted from the last fact
   * on that a head covers. Heads are written within seconds: more, and some are gone or none were kept.
   */
  readonly late_ms: number
  /** Null where heads, or a note of the log's very end, prove that nothing was cut off it. */
  readonly unproven: Unproven | null
  /** The log's end and its hash. Kept elsewhere, and given to a later audit, it proves everything up to here. */
  readonly note: string
}

/** What was found so far. */
export type Findings = { readonly found: (divergence: Divergence) => void; readonly isBroken: (stream: string) => boolean }

/** Compares the log, event by event in order, with the heads that were written while it grew, and with an auditor's own note. */
export async function comparison(log: Pick<HeadLog, 'key' | 'lines'>, note: string | undefined, findings: Findings) {
  const noted = note === undefined ? undefined : parseNote(note)
  const heads = headReader(log, findings)
  let open = segment(NO_HEAD)
  let since = NO_HEAD.position
  let head = await heads.next()
  let due = positionOf(head)
  /** When what comes after the last head was recorded. */
  const tail = { fromMs: Infinity, toMs: -Infinity }
  /** The last event that was read, and when the newest of those was recorded that a head ends with. */
  let [newest, coveredAt]: [StoredEvent | undefined, number] = [undefined, -Infinity]
  let isNoteMet = noted === undefined || noted.position === NO_HEAD.position

  const close = async (reached: Head): Promise<void> => {
    judge(reached, since, open, findings)
    // When a head was written says nothing of what it ends with, and nothing that it ends with was recorded later.
    coveredAt = Math.max(coveredAt, Math.min((newest && recordedAt(newest)) ?? -Infinity, reached.at))
    since = reached.position
    open = segment(reached)
    head = await heads.next()
    due = positionOf(head)
  }
  return {
    /** Whether `reach` has to be awaited before the event is added. */
    isDue: ({ position }: StoredEvent): boolean => due !== undefined && position > due,
    /** Closes the heads that lie before a position. */
    async reach(position: bigint): Promise<void> {
      while (head && due !== undefined && position > due) await close(head)
    },
    add(event: StoredEvent): void {
      open.add(event)
      newest = event
      // Whatever order they stand in: the last of them may be dated back by whoever took heads away.
      if (!head && heads.read().heads > 0) {
        const at = recordedAt(event)
        tail.fromMs = Math.min(tail.fromMs, at ?? Infinity)
        tail.toMs = Math.max(tail.toMs, at ?? -Infinity)
      }
      if (noted !== undefined && `${event.position}` === noted.position) isNoteMet = open.reached().hash === noted.hash
    },
    /**
     * Closes the heads of all that was added. @returns whether there is a head of still more that was not there when this
     * was last asked: a market that goes on writes both, and what the head is about is to be read before it is judged
     */
    async isGrown(): Promise<boolean> {
      const before = head
      const { position } = open.reached()
      while (head && due !== undefined && position !== NO_HEAD.position && BigInt(position) >= due) await close(head)
      return head !== undefined && head !== before
    },
    async end(): Promise<HeadsReport> {
      while (head) await close(head)
      const { position, hash, events } = open.reached()
      const what = `the log up to position ${noted?.position} is not the one of the given note`
      if (!isNoteMet) findings.found({ stream: WHOLE_LOG, revision: events, what })
      const read = heads.read()
      const lateMs = Math.max(0, tail.toMs - Math.max(tail.fromMs, coveredAt))
      // That of an empty log fits whatever was emptied.
      const isNotedToTheEnd = isNoteMet && noted?.position === position && position !== NO_HEAD.position
      return {
        ...read,
        events_after: open.size(),
        late_ms: lateMs,
        unproven: isNotedToTheEnd ? null : unprovenBy({ ...read, lateMs }),
        note: `${position}:${hash}`,
      }
    },
  }
}

function recordedAt(event: StoredEvent): number | undefined {
  try {
    const { at } = metaOf(event)
    return Number.isFinite(at) ? at : undefined
  } catch {
    return undefined // that it cannot be read, or is no time, is found where it is folded
  }
}

const positionOf = (head: Head | undefined): bigint | undefined => (head ? BigInt(head.position) : undefined)

/** The heads one after the other, each with its signature checked. */
function headReader({ key, lines }: Pick<HeadLog, 'key' | 'lines'>, { found }: Findings) {
  const upcoming = lines()[Symbol.asyncIterator]()
  let [count, events] = [0, 0]
  let firstAt: number | null = null
  let lastAt: number | null = null
  const wrong = (what: string): void => found({ stream: WHOLE_LOG, revision: events, what })

  async function next(): Promise<Head | undefined> {
    const line = await upcoming.next()
    if (line.done === true) {
      if (key && count === 0) wrong('the log heads are gone: their key is there, and they are not')
      return undefined
    }
    count += 1
    const head = readHead(line.value)
    if (!head) {
      wrong(`line ${count} of the log heads cannot be read`)
      return undefined
    }
    firstAt ??= head.at
    lastAt = head.at
    events = head.events
    if (key && !isSigned(key, line.value)) wrong(`the log head at position ${head.position} is not signed by the audit key`)
    // The head that says since when heads are kept is about no event.
    return head.position === NO_HEAD.position ? next() : head
  }
  return { next, read: () => ({ heads: count, first_at: firstAt, last_at: lastAt, signed: key !== undefined && count > 0 }) }
}

/** A head against the part of the log that it is about. */
function judge(head: Head, from: string, open: ReturnType<typeof segment>, { found, isBroken }: Findings): void {
  const reached = open.reached()
  const start = reached.events - open.size()
  if (head.from !== from)
    return found({ stream: WHOLE_LOG, revision: start, what: `the log heads between position ${from} and ${head.from} are gone` })
  const wrong = (stream: string, revision: number, what: string): void => found({ stream, revision, what })
  const since = new Date(head.at).toISOString()
  for (const [stream, first, last, chain] of head.streams) {
    const there = open.streams.get(stream)
    if (!there) wrong(stream, first, `its revisions ${first} to ${last} were there at ${since}, and are gone`)
    else if (there.last < last) wrong(stream, there.last + 1, `its revision ${last} was there at ${since}, and is gone`)
    else if (there.last > last || there.first !== first)
      wrong(stream, Math.min(there.first, last + 1), `it had other revisions at ${since}`)
    else if (there.chain !== chain)
      wrong(stream, first, `revisions ${first} to ${last} were others at ${since}, and were written anew`)
  }
  const listed = new Set(head.streams.map(([stream]) => stream))
  for (const [stream, { first }] of open.streams)
    if (!listed.has(stream)) wrong(stream, first, `revision ${first} was not there at ${since}, and was put in later`)
  // Where a stream is known to be broken, that is the reason.
  if (![...listed, ...open.streams.keys()].some(isBroken) && (reached.hash !== head.hash || reached.events !== head.events))
    wrong(
      WHOLE_LOG,
      start,
      `the log from position ${head.from} to ${head.position} has another order, or other positions, than at ${since}`,
    )
}

function parseNote(note: string): { readonly position: string; readonly hash: string } {
  const [, position, hash] = /^(\d+|start):([0-9a-f]{64})$/.exec(note) ?? []
  if (position === undefined || hash === undefined)
    throw new Error(`"${note}" is no note of an audit: it looks like <position>:<64 hex digits>.`)
  return { position, hash }
}
