import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { type Divergence, type Findings, WHOLE_LOG } from './fold.ts'
import { type Gap, createGapCollector, readRecordedAt } from './gaps.ts'
import {
  type LogHead,
  isSigned,
  NO_HEAD,
  type LogHeadReader,
  tryParseHead,
  openSegment,
  type UnprovenReason,
  findUnprovenReason,
} from './heads.ts'
import { createMarketCheck } from './market-check.ts'
import { createNoteChecks } from './notes.ts'

export type HeadsReport = {
  /** Number of compared heads, and when the first and the last of them were written (milliseconds since 1970). */
  readonly heads: number
  readonly first_at: number | null
  readonly last_at: number | null
  /** Whether the audit key was available to check the signatures of the heads. */
  readonly signed: boolean
  /** Number of events after the last head. The heads cannot reveal whether more events were removed there. */
  readonly events_after: number
  /**
   * Milliseconds between the earliest and the latest event after the last head. The span starts no earlier than the last
   * covered event, because an event has the time of its command, which may have waited.
   * Heads are written within seconds, so a larger value means that heads were removed or not written.
   */
  readonly late_ms: number
  /** Parts of the log that had no head for longer than a crash explains. */
  readonly gaps: readonly Gap[]
  /** The first stream with a random id in the store, and in the heads. These ids identify the market. */
  readonly store_begins_with: string | null
  readonly heads_begin_with: string | null
  /** Null if heads, or a note of the log's last position, prove that no event was removed from the end of the log. */
  readonly unproven: UnprovenReason | null
  /** The position and hash of the log's end. A later audit with this note proves the log up to this position. */
  readonly note: string
}

/** Compares the log, event by event in order, with the log heads and with the note that an auditor kept. */
export async function createHeadComparison(log: LogHeadReader, note: string | undefined, findings: Findings) {
  const notes = await createNoteChecks(log, note, findings)
  const heads = createHeadReader(log, findings)
  const gaps = createGapCollector()
  const market = createMarketCheck((divergence) => findings.report(divergence))
  const tailLateness = trackLateness()
  let open = openSegment(NO_HEAD)
  let since: Pick<LogHead, 'position' | 'events'> = NO_HEAD
  let head = await heads.next()
  let due = positionOf(head)

  const close = async (reached: LogHead): Promise<void> => {
    market.addHead(reached)
    compareHead(reached, since.position, open, {
      report: (one) => market.report(one),
      isBroken: (stream) => findings.isBroken(stream) || market.isWaiting(stream),
    })
    gaps.add(reached, since)
    tailLateness.cover(reached.at)
    since = reached
    open = openSegment(reached)
    head = await heads.next()
    due = positionOf(head)
  }
  return {
    /** Whether `closeUpTo` has to be awaited before the event is added. */
    isDue: ({ position }: StoredEvent): boolean => due !== undefined && position > due,
    /** Compares the heads before a position with the log. */
    async closeUpTo(position: bigint): Promise<void> {
      while (head && due !== undefined && position > due) await close(head)
    },
    add(event: StoredEvent): void {
      open.add(event)
      market.addStored(event.stream)
      tailLateness.add(event, !head && heads.read().heads > 0)
      notes.meet(`${event.position}`, open)
    },
    /**
     * Compares the heads of all added events with the log. A running market appends both events and heads.
     * @returns whether a head was compared and another head follows, so that the caller has to read more events
     */
    async hasMoreHeads(): Promise<boolean> {
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
        if (market.isOther()) findings.reportFirst(logDivergence(events, describeOtherMarket(market.names())))
        else notes.judge(tailLateness.position(), since.position, events)
      }
      const found = { ...heads.read(), lateMs: tailLateness.lateMs(), gaps: gaps.all(), names: market.names() }
      return buildReport(uncovered, found, notes)
    },
  }
}

type ComparisonResult = {
  readonly heads: number
  readonly first_at: number | null
  readonly last_at: number | null
  readonly signed: boolean
  readonly lateMs: number
  readonly gaps: readonly Gap[]
  readonly names: Pick<HeadsReport, 'store_begins_with' | 'heads_begin_with'>
}

function buildReport(
  uncovered: ReturnType<typeof openSegment>,
  { lateMs, gaps, names, ...read }: ComparisonResult,
  notes: Awaited<ReturnType<typeof createNoteChecks>>,
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
    unproven: notes.isGivenOf(position) ? null : findUnprovenReason({ ...read, lateMs, eventsAfter, hasGap }),
    note: `${position}:${hash}`,
  }
}

const logDivergence = (revision: number, what: string): Divergence => ({ stream: WHOLE_LOG, revision, what })

const describeOtherMarket = (names: Pick<HeadsReport, 'store_begins_with' | 'heads_begin_with'>): string =>
  `this store belongs to another market: it begins with ${names.store_begins_with}, and its heads with ${names.heads_begin_with}`

/** Tracks when the events after the last head were recorded. */
function trackLateness() {
  let [fromMs, toMs] = [Infinity, -Infinity]
  /** The last event that was read, and the latest timestamp of an event at which a head ends. */
  let [newest, coveredAt]: [StoredEvent | undefined, number] = [undefined, -Infinity]
  return {
    /** The position of the last event. */
    position: (): string => (newest ? `${newest.position}` : NO_HEAD.position),
    /** Records the timestamp of the head's last event, at most `writtenAt`, because a head may be written late. */
    cover(writtenAt: number): void {
      coveredAt = Math.max(coveredAt, Math.min((newest && readRecordedAt(newest)) ?? -Infinity, writtenAt))
    },
    add(event: StoredEvent, isUncovered: boolean): void {
      newest = event
      if (!isUncovered) return
      // All events count, because an attacker who removed heads may have backdated the last event.
      const at = readRecordedAt(event)
      fromMs = Math.min(fromMs, at ?? Infinity)
      toMs = Math.max(toMs, at ?? -Infinity)
    },
    lateMs: (): number => Math.max(0, toMs - Math.max(fromMs, coveredAt)),
  }
}

const positionOf = (head: LogHead | undefined): bigint | undefined => (head ? BigInt(head.position) : undefined)

/** Reads the heads one after the other, and checks each signature. */
function createHeadReader({ key, lines }: LogHeadReader, { report }: Findings) {
  const upcoming = lines()[Symbol.asyncIterator]()
  let [count, events] = [0, 0]
  let firstAt: number | null = null
  let lastAt: number | null = null
  const wrong = (what: string): void => report({ stream: WHOLE_LOG, revision: events, what })
  /** Consecutive heads without a valid signature, reported as one finding. */
  const unsigned: string[] = []
  const reportUnsigned = (): void => {
    const [first, ...more] = unsigned.splice(0)
    if (first === undefined) return
    if (more.length === 0) return wrong(`the log head at position ${first} is not signed by the audit key`)
    wrong(`${more.length + 1} log heads from position ${first} to ${more.at(-1)} are not signed by the audit key`)
  }

  async function next(): Promise<LogHead | undefined> {
    const line = await upcoming.next()
    if (line.done === true) {
      reportUnsigned()
      if (key && count === 0) wrong('the log heads are gone: the audit key exists, and the heads do not')
      return undefined
    }
    count += 1
    const head = tryParseHead(line.value)
    if (!head) {
      reportUnsigned()
      wrong(`line ${count} of the log heads cannot be read`)
      return undefined
    }
    firstAt ??= head.at
    lastAt = head.at
    if (key && !isSigned(key, line.value)) unsigned.push(head.position)
    else reportUnsigned()
    events = head.events
    // The first head records when head writing began, and covers no event.
    return head.position === NO_HEAD.position ? next() : head
  }
  return { next, read: () => ({ heads: count, first_at: firstAt, last_at: lastAt, signed: key !== undefined && count > 0 }) }
}

/** Compares a head with the part of the log that it covers. */
function compareHead(
  head: LogHead,
  from: string,
  open: ReturnType<typeof openSegment>,
  { report, isBroken }: Omit<Findings, 'reportFirst'>,
): void {
  const reached = open.reached()
  const start = reached.events - open.size()
  if (head.from !== from)
    return report({
      stream: WHOLE_LOG,
      revision: start,
      what: `the log heads between position ${from} and ${head.from} are gone`,
    })
  const wrong = (stream: string, revision: number, what: string): void => report({ stream, revision, what })
  const since = new Date(head.at).toISOString()
  for (const [stream, first, last, chain] of head.streams) {
    const stored = open.streams.get(stream)
    if (!stored) wrong(stream, first, `its revisions ${first} to ${last} were there at ${since}, and are gone`)
    else if (stored.last < last) wrong(stream, stored.last + 1, `its revision ${last} was there at ${since}, and is gone`)
    else if (stored.last > last || stored.first !== first)
      wrong(stream, Math.min(stored.first, last + 1), `it had other revisions at ${since}`)
    else if (stored.chain !== chain)
      wrong(stream, first, `revisions ${first} to ${last} were others at ${since}, and were written anew`)
  }
  const listed = new Set(head.streams.map(([stream]) => stream))
  for (const [stream, { first }] of open.streams)
    if (!listed.has(stream)) wrong(stream, first, `revision ${first} was not there at ${since}, and was put in later`)
  // A stream with a finding already explains why the hash of the log differs.
  if (![...listed, ...open.streams.keys()].some(isBroken) && (reached.hash !== head.hash || reached.events !== head.events))
    wrong(
      WHOLE_LOG,
      start,
      `the log from position ${head.from} to ${head.position} has another order, or other positions, than at ${since}`,
    )
}
