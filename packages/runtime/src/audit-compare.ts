import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { type Divergence, type Findings, WHOLE_LOG } from './audit-fold.ts'
import { type Gap, gapReader, recordedAt } from './audit-gap.ts'
import { type Head, isSigned, NO_HEAD, type ReadHeads, readHead, segment, type Unproven, unprovenBy } from './audit-heads.ts'
import { sameMarket } from './audit-market.ts'
import { notesOf } from './audit-notes.ts'

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
  /** Parts of the log that stood uncovered for longer than a kill explains. */
  readonly gaps: readonly Gap[]
  /** The first stream with a random id in the store, and in the heads: they name the market. */
  readonly store_begins_with: string | null
  readonly heads_begin_with: string | null
  /** Null where heads, or a note of the log's very end, prove that nothing was cut off it. */
  readonly unproven: Unproven | null
  /** The log's end and its hash. Kept elsewhere, and given to a later audit, it proves everything up to here. */
  readonly note: string
}

/** Compares the log, event by event in order, with the heads that were written while it grew, and with an auditor's own note. */
export async function comparison(log: ReadHeads, note: string | undefined, findings: Findings) {
  const notes = await notesOf(log, note, findings)
  const heads = headReader(log, findings)
  const gaps = gapReader()
  const market = sameMarket((divergence) => findings.found(divergence))
  const tail = lateness()
  let open = segment(NO_HEAD)
  let since: Pick<Head, 'position' | 'events'> = NO_HEAD
  let head = await heads.next()
  let due = positionOf(head)

  const close = async (reached: Head): Promise<void> => {
    market.addHead(reached)
    judge(reached, since.position, open, {
      found: (one) => market.found(one),
      isBroken: (stream) => findings.isBroken(stream) || market.isWaiting(stream),
    })
    gaps.add(reached, since)
    tail.cover(reached.at)
    since = reached
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
      market.addStored(event.stream)
      tail.add(event, !head && heads.read().heads > 0)
      notes.meet(`${event.position}`, open)
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
    /** @param isWhole whether the log could be read to its end */
    async end(isWhole: boolean): Promise<HeadsReport> {
      const uncovered = open
      if (isWhole) {
        while (head) await close(head)
        market.end()
        const { events } = uncovered.reached()
        if (market.isOther()) findings.foundFirst(ofLog(events, otherMarket(market.names())))
        else notes.judge(tail.position(), since.position, events)
      }
      const found = { ...heads.read(), lateMs: tail.lateMs(), gaps: gaps.all(), names: market.names() }
      return reportOf(uncovered, found, notes)
    },
  }
}

type Found = {
  readonly heads: number
  readonly first_at: number | null
  readonly last_at: number | null
  readonly signed: boolean
  readonly lateMs: number
  readonly gaps: readonly Gap[]
  readonly names: Pick<HeadsReport, 'store_begins_with' | 'heads_begin_with'>
}

function reportOf(
  uncovered: ReturnType<typeof segment>,
  { lateMs, gaps, names, ...read }: Found,
  notes: Awaited<ReturnType<typeof notesOf>>,
): HeadsReport {
  const { position, hash } = uncovered.reached()
  const eventsAfter = uncovered.size()
  const hasGap = gaps.some((gap) => !notes.isGivenFrom(gap.position))
  return {
    ...read,
    events_after: eventsAfter,
    late_ms: lateMs,
    gaps,
    ...names,
    unproven: notes.isGivenOf(position) ? null : unprovenBy({ ...read, lateMs, eventsAfter, hasGap }),
    note: `${position}:${hash}`,
  }
}

const ofLog = (revision: number, what: string): Divergence => ({ stream: WHOLE_LOG, revision, what })

const otherMarket = (names: Pick<HeadsReport, 'store_begins_with' | 'heads_begin_with'>): string =>
  `this store belongs to another market: it begins with ${names.store_begins_with}, and its heads with ${names.heads_begin_with}`

/** When what comes after the last head was recorded. */
function lateness() {
  let [fromMs, toMs] = [Infinity, -Infinity]
  /** The last event that was read, and when the newest of those was recorded that a head ends with. */
  let [newest, coveredAt]: [StoredEvent | undefined, number] = [undefined, -Infinity]
  return {
    /** The position of the last event. */
    position: (): string => (newest ? `${newest.position}` : NO_HEAD.position),
    /** When a head was written says nothing of what it ends with, and nothing that it ends with was recorded later. */
    cover(writtenAt: number): void {
      coveredAt = Math.max(coveredAt, Math.min((newest && recordedAt(newest)) ?? -Infinity, writtenAt))
    },
    add(event: StoredEvent, isUncovered: boolean): void {
      newest = event
      if (!isUncovered) return
      // Whatever order they stand in: the last of them may be dated back by whoever took heads away.
      const at = recordedAt(event)
      fromMs = Math.min(fromMs, at ?? Infinity)
      toMs = Math.max(toMs, at ?? -Infinity)
    },
    lateMs: (): number => Math.max(0, toMs - Math.max(fromMs, coveredAt)),
  }
}

const positionOf = (head: Head | undefined): bigint | undefined => (head ? BigInt(head.position) : undefined)

/** The heads one after the other, each with its signature checked. */
function headReader({ key, lines }: ReadHeads, { found }: Findings) {
  const upcoming = lines()[Symbol.asyncIterator]()
  let [count, events] = [0, 0]
  let firstAt: number | null = null
  let lastAt: number | null = null
  const wrong = (what: string): void => found({ stream: WHOLE_LOG, revision: events, what })
  /** Heads in a row that are not signed, told as one. */
  const unsigned: string[] = []
  const tellUnsigned = (): void => {
    const [first, ...more] = unsigned.splice(0)
    if (first === undefined) return
    if (more.length === 0) return wrong(`the log head at position ${first} is not signed by the audit key`)
    wrong(`${more.length + 1} log heads from position ${first} to ${more.at(-1)} are not signed by the audit key`)
  }

  async function next(): Promise<Head | undefined> {
    const line = await upcoming.next()
    if (line.done === true) {
      tellUnsigned()
      if (key && count === 0) wrong('the log heads are gone: their key is there, and they are not')
      return undefined
    }
    count += 1
    const head = readHead(line.value)
    if (!head) {
      tellUnsigned()
      wrong(`line ${count} of the log heads cannot be read`)
      return undefined
    }
    firstAt ??= head.at
    lastAt = head.at
    if (key && !isSigned(key, line.value)) unsigned.push(head.position)
    else tellUnsigned()
    events = head.events
    // The head that says since when heads are kept is about no event.
    return head.position === NO_HEAD.position ? next() : head
  }
  return { next, read: () => ({ heads: count, first_at: firstAt, last_at: lastAt, signed: key !== undefined && count > 0 }) }
}

/** A head against the part of the log that it is about. */
function judge(
  head: Head,
  from: string,
  open: ReturnType<typeof segment>,
  { found, isBroken }: Omit<Findings, 'foundFirst'>,
): void {
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
