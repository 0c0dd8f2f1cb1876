import type { EventStore, StoredEvent } from '@penstock/ports/event-store.ts'
import { type Head, type LogEnd, NO_HEAD, positionOf, segment } from './audit-heads.ts'
import { metaOf } from './event-codec.ts'
import { lookedUp } from './gauges.ts'

/** A kill leaves what came since the last head: these are far above what it can be. */
const MOST_MS = 60_000
const MOST_EVENTS = 1000
const PAGE = 500

/** What was known of the log before this start. `isAlone`: only this process, and nobody before now, has appended since. */
export type Kept = {
  readonly head: Head | undefined
  readonly end: LogEnd | undefined
  readonly now: number
  readonly isAlone: boolean
}

/** What no kill explains: how many events follow what was known last, and when that was (milliseconds since 1970). */
type UnexplainedEvents = { readonly reason: string; readonly events: number; readonly since: number | null }

const noted = lookedUp(
  'penstock_audit_gap_timestamp_seconds',
  'When events were last found that no log head covered and no kill explains, in seconds since 1970; absent where never.',
)

/** @param at milliseconds since 1970 */
export const showGap = (at: number): void => noted.set(at / 1000)

/**
 * Compares what follows the last head with what a kill can leave. What a head says of time is signed, and what events say
 * of it is not: whoever wrote them anew has dated them as he liked, so their number counts too.
 * @returns undefined where a kill explains all of it
 */
export async function gapAfter(
  store: Pick<EventStore, 'readAll'>,
  { head, end, now, isAlone }: Kept,
): Promise<UnexplainedEvents | undefined> {
  const log = segment(head ?? NO_HEAD)
  const isEndAhead = end !== undefined && end.events > log.reached().events
  const isEndHere = end !== undefined && end.events === log.reached().events && end.hash === log.reached().hash
  let known = isEndHere ? knownBy(end, head) : knownBy(undefined, head)
  let isEndMet = !isEndAhead
  let [count, isLate] = [0, false]
  for (let after = positionOf(log.reached().position); ;) {
    const page: readonly StoredEvent[] = await store.readAll(after, PAGE)
    for (const event of page) {
      log.add(event)
      count += 1
      isLate ||= isUnexplained(event, known.since ?? -Infinity)
      if (!isEndAhead || log.reached().events !== end.events || log.reached().hash !== end.hash) continue
      // The end is signed as heads are: a power cut may take the last head, and leave it.
      known = knownBy(end, head)
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
    ? 'the log is not the one of its last known end'
    : count > MOST_EVENTS
      ? `more than ${MOST_EVENTS} events`
      : closed && isAlone && count > 0
        ? 'events after a clean stop'
        : isLate
          ? `events of more than ${MOST_MS / 1000} seconds`
          : undefined
  return reason === undefined ? undefined : { reason, events: count, since }

  /** Whether it was recorded too late for a kill, and too early for those who have started already. */
  function isUnexplained(event: StoredEvent, since: number): boolean {
    const at = recordedAt(event) ?? -Infinity
    return at > since + MOST_MS && (isAlone || at < now - MOST_MS)
  }
}

/** Where there never was a head, `since` is null: what was there before heads began is a gap. */
const knownBy = (end: LogEnd | undefined, head: Head | undefined): { since: number | null; closed: boolean } => ({
  since: end || head ? Math.max(end?.at ?? -Infinity, head?.at ?? -Infinity) : null,
  closed: end?.closed ?? false,
})

/** @returns undefined where the event does not tell: that is found where it is folded */
export function recordedAt(event: StoredEvent): number | undefined {
  try {
    const { at } = metaOf(event)
    return Number.isFinite(at) ? at : undefined
  } catch {
    return undefined
  }
}

/**
 * A part of the log, after `from` up to `position`, that no head covered for longer than a kill explains. `at`: when it
 * was noted, in milliseconds since 1970. What stood there before then, nothing proves.
 */
export type Gap = { readonly from: string; readonly position: string; readonly events: number; readonly at: number }

/** Collects the heads that are marked. Neighbours are one gap: a long one takes several heads. */
export function gapReader() {
  const gaps: Gap[] = []
  return {
    add(head: Head, { position: from, events: before }: Pick<Head, 'position' | 'events'>): void {
      if (!head.gap) return
      const { position, at } = head
      const joined = gaps.at(-1)?.position === from ? gaps.pop() : undefined
      gaps.push({ from: joined?.from ?? from, position, events: head.events - before + (joined?.events ?? 0), at })
    },
    all: (): readonly Gap[] => gaps,
  }
}
