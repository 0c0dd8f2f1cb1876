import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { type LogHead, type SignedLogEnd, NO_HEAD, parsePosition, openSegment } from './heads.ts'
import { readMeta } from '@penstock/runtime/commands/event-codec.ts'
import { createSampledGauge } from '@penstock/runtime/observability/gauges.ts'

/** After a crash, no head covers the newest events. These limits are far above the number and time span of such events. */
const MAX_UNCOVERED_MS = 60_000
const MAX_UNCOVERED_EVENTS_AFTER_CRASH = 1000
const PAGE = 500

/** The log as known at this start. `isAlone`: no other process can have appended between the last run and this start. */
export type KnownLog = {
  readonly head: LogHead | undefined
  readonly end: SignedLogEnd | undefined
  readonly now: number
  readonly isAlone: boolean
}

/** Events after the last known head or end that no crash explains. `since`: when that was written (ms since 1970). */
type UnexplainedEvents = { readonly reason: string; readonly events: number; readonly since: number | null }

const gapGauge = createSampledGauge(
  'penstock_audit_gap_timestamp_seconds',
  'Time of the last gap in the log heads that no crash explains, in seconds since 1970; absent without a gap.',
)

/** @param at milliseconds since 1970 */
export const showGap = (at: number): void => gapGauge.set(at / 1000)

/**
 * Compares the events after the last head with the limits of a crash. The timestamp of a head is signed. An attacker who
 * rewrites events can choose their timestamps, so the number of events is limited too.
 * @returns undefined if a crash explains all of these events
 */
export async function findGap(
  store: Pick<EventStore, 'readAll'>,
  { head, end, now, isAlone }: KnownLog,
): Promise<UnexplainedEvents | undefined> {
  const log = openSegment(head ?? NO_HEAD)
  const isEndAhead = end !== undefined && end.events > log.reached().events
  const isEndHere = end !== undefined && end.events === log.reached().events && end.hash === log.reached().hash
  let known = isEndHere ? lastKnown(end, head) : lastKnown(undefined, head)
  let isEndMet = !isEndAhead
  let [count, isLate] = [0, false]
  for (let after = parsePosition(log.reached().position); ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    for (const event of page) {
      log.add(event)
      count += 1
      isLate ||= isUnexplained(event, known.since ?? -Infinity)
      if (!isEndAhead || log.reached().events !== end.events || log.reached().hash !== end.hash) continue
      // The end is signed like a head, and replaces it here: a power failure may lose the last head but not the end.
      known = lastKnown(end, head)
      isEndMet = true
      count = 0
      isLate = false
    }
    const last = page.at(-1)
    if (!last || page.length < PAGE) break
    after = last.position
  }
  const { since, closed } = known
  const reason = !isEndMet
    ? 'the log does not contain its last known end'
    : count > MAX_UNCOVERED_EVENTS_AFTER_CRASH
      ? `more than ${MAX_UNCOVERED_EVENTS_AFTER_CRASH} events`
      : closed && isAlone && count > 0
        ? 'events after a clean stop'
        : isLate
          ? `events of more than ${MAX_UNCOVERED_MS / 1000} seconds`
          : undefined
  return reason === undefined ? undefined : { reason, events: count, since }

  /** Whether the event is too late for a crash of the last run, and too early for processes that start together with this one. */
  function isUnexplained(event: StoredEvent, since: number): boolean {
    const at = readRecordedAt(event) ?? -Infinity
    return at > since + MAX_UNCOVERED_MS && (isAlone || at < now - MAX_UNCOVERED_MS)
  }
}

/** `since` is null if there is neither head nor end, so that all events before the first head are a gap. */
const lastKnown = (end: SignedLogEnd | undefined, head: LogHead | undefined): { since: number | null; closed: boolean } => ({
  since: end || head ? Math.max(end?.at ?? -Infinity, head?.at ?? -Infinity) : null,
  closed: end?.closed ?? false,
})

/** @returns milliseconds since 1970; undefined if the metadata has no valid time, which the fold reports */
export function readRecordedAt(event: StoredEvent): number | undefined {
  try {
    const { at } = readMeta(event)
    return Number.isFinite(at) ? at : undefined
  } catch {
    return undefined
  }
}

/**
 * A part of the log, after `from` up to `position`, that had no head for longer than a crash explains. `at` is when the gap
 * was recorded (milliseconds since 1970). No head proves the contents of its events before that time.
 */
export type Gap = { readonly from: string; readonly position: string; readonly events: number; readonly at: number }

/** Collects the heads that are marked as a gap. Adjacent marked heads form one gap, because a long gap needs several heads. */
export function createGapCollector() {
  const gaps: Gap[] = []
  return {
    add(head: LogHead, { position: from, events: before }: Pick<LogHead, 'position' | 'events'>): void {
      if (!head.gap) return
      const { position, at } = head
      const joined = gaps.at(-1)?.position === from ? gaps.pop() : undefined
      gaps.push({ from: joined?.from ?? from, position, events: head.events - before + (joined?.events ?? 0), at })
    },
    all: (): readonly Gap[] => gaps,
  }
}
