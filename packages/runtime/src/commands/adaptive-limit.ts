import { MINUTE_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createWindowedMinimum } from './windowed-minimum.ts'

/** An admitted purchase. Its caller calls exactly one of these functions. */
export type AdmittedPurchase = {
  /** The purchase was ready in time. */
  reportReady(): void
  /** The purchase took too long. */
  reportLate(): void
  /** The purchase was refused for its content, which shows nothing about the load of the market. */
  reportRefused(): void
}

export type AdmissionControl = {
  /** @returns the admitted purchase, or the seconds until a retry if the purchase would not be ready in time */
  enter(): { readonly admitted: AdmittedPurchase } | { readonly busyForSeconds: number }
  /** Whether `enter` would refuse a purchase now. */
  isFull(): boolean
}

/** Interval between two reviews of the limit. A review waits longer while few purchases have completed. */
const REVIEW_EVERY_MS = SECOND_MS
const MIN_COMPLETED = 8
/** If at least this number of purchases entered between two reviews, their rate shows the market's capacity. */
const MIN_ENTERED = 8
/** A purchase may queue for one fifth of the time for its answer; the rest is a reserve for later delays. */
const QUEUE_SHARE = 5
/**
 * A purchase may wait for the buyer's own node. So while purchases do not reach the limit, or were refused after such a wait, a
 * waiting purchase shows a slow market only close to the end of its time.
 */
const STUCK_SHARE = 0.8
/** The limit at the start, when the market's capacity is not known, and the bounds of the limit of a quiet market. */
const INITIAL_LIMIT = 20
const [MIN_QUIET_LIMIT, MAX_QUIET_LIMIT] = [INITIAL_LIMIT, 64]
const MIN_LIMIT = 1
const MAX_QUEUED_GROWTH = 4
/** The factor per quiet second by which the limit approaches the limit of a quiet market. */
const RECOVERY_FACTOR = 1.25
const [MIN_RETRY_S, MAX_RETRY_S] = [2, 60]
const BASE_WINDOW_MS = MINUTE_MS

/** Gets every change, for metrics. */
export type AdmissionObserver = {
  readonly onInFlight: (count: number) => void
  readonly onLimit: (limit: number) => void
  readonly onRefused: () => void
}

type MonotonicClock = Pick<Clock, 'monotonicMs'>

const noObserver: AdmissionObserver = { onInFlight: () => {}, onLimit: () => {}, onRefused: () => {} }

/**
 * Admits purchases only while they will be ready in time, judged by the time that earlier purchases took. Purchases may wait
 * anywhere: for a queue of the bus, a disk, or a processor that is busy with payments, which have priority.
 *
 * If even the quickest purchase queued for too long, the queue does not end by itself (CoDel, RFC 8289). Then the limit falls
 * to the number that completes within the allowed queue time. Otherwise the limit grows while purchases reach it. The time
 * that a purchase takes alone is not queue time, so a slow market with free capacity is not limited to one purchase at a time.
 * @param answerMs the time in which a purchase has to be answered
 */
export function createAdaptiveLimit(clock: MonotonicClock, answerMs: number, observer = noObserver): AdmissionControl {
  const maxQueueMs = answerMs / QUEUE_SHARE
  const inFlight = new Set<Entry>()
  /** The time of a purchase that waits for no other purchase. No limit makes it shorter. */
  const base = createWindowedMinimum(BASE_WINDOW_MS)
  let [limit, perSecond] = [INITIAL_LIMIT, 0]
  let lastLeftAt = clock.monotonicMs()
  let sample = startSample(clock.monotonicMs(), 0)

  function review(now: number): void {
    const overMs = now - sample.since
    // A low limit needs fewer completed purchases, so that it recovers from an outage in a shorter time.
    if (overMs < REVIEW_EVERY_MS || (sample.completed < Math.min(MIN_COMPLETED, limit) && overMs < maxQueueMs)) return
    const measured = measure(sample, inFlight, now, answerMs)
    const bounds = computeBounds(base.read(now) ?? 0, answerMs)
    limit = adaptLimit(limit, sample, measured, { ...bounds, overMs, idleMs: inFlight.size === 0 ? now - lastLeftAt : 0 })
    perSecond = measured.perSecond > 0 ? measured.perSecond : perSecond
    sample = startSample(now, inFlight.size, sample)
    observer.onLimit(limit)
  }

  const admitted = (entry: Entry): AdmittedPurchase => {
    const leave = (outcome: Partial<Sample> = {}): void => {
      inFlight.delete(entry)
      observer.onInFlight(inFlight.size)
      lastLeftAt = clock.monotonicMs()
      review(lastLeftAt)
      sample = { ...sample, ...outcome }
    }
    return {
      reportReady() {
        const wasUnderLoad = isUnderLoad(sample)
        leave()
        const tookMs = lastLeftAt - entry.since
        if (entry.isFirst || !wasUnderLoad) base.add(lastLeftAt, tookMs)
        sample = { ...sample, quickestMs: Math.min(sample.quickestMs, tookMs), completed: sample.completed + 1 }
      },
      reportLate: () => leave({ isLate: true }),
      reportRefused() {
        leave({ hasRefused: true })
        if (lastLeftAt - entry.since > maxQueueMs) sample = { ...sample, slowRefusalAt: lastLeftAt }
      },
    }
  }

  const isFull = (): boolean => {
    review(clock.monotonicMs())
    return inFlight.size + 1 > limit
  }

  return {
    isFull,
    enter() {
      if (isFull()) {
        sample = { ...sample, isFull: true }
        observer.onRefused()
        return { busyForSeconds: retrySeconds(inFlight.size, perSecond) }
      }
      const entry = { since: clock.monotonicMs(), isFirst: inFlight.size === 0 }
      inFlight.add(entry)
      sample = { ...sample, entered: sample.entered + 1, mostInFlight: Math.max(sample.mostInFlight, inFlight.size) }
      observer.onInFlight(inFlight.size)
      return { admitted: admitted(entry) }
    },
  }
}

type Sample = {
  readonly since: number
  readonly quickestMs: number
  readonly entered: number
  readonly completed: number
  readonly mostInFlight: number
  readonly isLate: boolean
  readonly hasRefused: boolean
  readonly isFull: boolean
  /** Purchases reached the limit in the sample before. */
  readonly wasFull: boolean
  /** The last time at which a purchase was refused after a long wait, such as the wait for a node that does not answer. */
  readonly slowRefusalAt: number
}
/** Whether purchases reached the limit, in this sample or the one before. */
const isUnderLoad = ({ isFull, wasFull }: Sample): boolean => isFull || wasFull
/** The time that a purchase takes alone, and the time that it may take. */
type Bounds = { readonly baseMs: number; readonly maxMs: number }
type Measured = ReturnType<typeof measure>

const computeBounds = (baseMs: number, answerMs: number): Bounds => ({
  baseMs,
  maxMs: Math.min(baseMs + answerMs / QUEUE_SHARE, answerMs / 2),
})

function measure(sample: Sample, inFlight: ReadonlySet<Entry>, now: number, answerMs: number) {
  const isWaitQueue = isUnderLoad(sample) && now - sample.slowRefusalAt >= answerMs
  const [oldest] = inFlight
  const waitedMs = oldest ? now - oldest.since : 0
  const oldestMs = isWaitQueue || waitedMs >= answerMs * STUCK_SHARE ? waitedMs : 0
  const perSecond = (sample.completed * SECOND_MS) / (now - sample.since)
  return {
    /** Completed purchases per second. */
    perSecond,
    // If no purchase completed, only a waiting purchase shows a slow market: there may have been no purchase at all.
    quickestMs: sample.completed > 0 ? sample.quickestMs : oldestMs,
    /** Milliseconds until the last purchase in flight completes. */
    queueMs: perSecond > 0 ? (inFlight.size * SECOND_MS) / perSecond : oldestMs,
  }
}

/**
 * The rate of few purchases does not show the market's capacity. So the rate counts only if purchases reached the limit or
 * many arrived, and if even the quickest of them queued.
 */
function isSlow({ isLate, isFull, entered }: Sample, measured: Measured, bounds: Bounds): boolean {
  const { quickestMs, queueMs } = measured
  const { maxMs } = bounds
  if (isLate || quickestMs > maxMs) return true
  return isInLine(measured, bounds) && ((isFull && queueMs > maxMs) || (entered >= MIN_ENTERED && queueMs > 2 * maxMs))
}

/** Whether even the quickest purchase queued. */
const isInLine = ({ quickestMs }: Measured, { baseMs, maxMs }: Bounds): boolean =>
  quickestMs > baseMs + (maxMs - baseMs) / QUEUE_SHARE

type Times = Bounds & {
  /** Milliseconds since the last review. */
  readonly overMs: number
  /** Milliseconds without a purchase in flight until now. */
  readonly idleMs: number
}

function adaptLimit(limit: number, sample: Sample, measured: Measured, { baseMs, maxMs, overMs, idleMs }: Times): number {
  const moveToQuiet = (from: number, quietMs: number) =>
    moveToQuietLimit(from, sample, baseMs > 0 ? maxMs / baseMs : INITIAL_LIMIT, quietMs)
  if (isSlow(sample, measured, { baseMs, maxMs })) {
    const lower = lowerLimit(limit, (measured.perSecond * maxMs) / SECOND_MS)
    // This review may come long after the last purchase.
    return idleMs > 0 ? moveToQuiet(lower, idleMs) : lower
  }
  const hasLeft = measured.perSecond > 0 || sample.hasRefused
  if (sample.isFull) return limit + (hasLeft ? growthOf(limit, isInLine(measured, { baseMs, maxMs })) : 0)
  return moveToQuiet(limit, overMs)
}

/**
 * The limits of several gateways share one market. If they all grew in proportion, a low limit would stay low. So while purchases
 * queue, a limit grows by a few purchases only, and the limits become equal.
 */
const growthOf = (limit: number, isQueued: boolean): number =>
  Math.max(1, isQueued ? Math.min(MAX_QUEUED_GROWTH, limit / 4) : limit / 4)

/** Lowers the limit by at most half, because one slow second shows little. */
const lowerLimit = (limit: number, capacity: number): number => Math.max(MIN_LIMIT, limit / 2, Math.min(limit * 0.9, capacity))

/**
 * Raises a limit that fell under load. Lowers a limit far above the purchases in flight, because it would admit a burst
 * before any purchase of the burst is ready.
 * @param serial the number of purchases that are ready in time if the market works on one after the other
 */
function moveToQuietLimit(limit: number, { mostInFlight }: Sample, serial: number, overMs: number): number {
  const quiet = Math.min(Math.max(serial, MIN_QUIET_LIMIT), MAX_QUIET_LIMIT)
  const factor = RECOVERY_FACTOR ** (overMs / REVIEW_EVERY_MS)
  return limit < quiet ? Math.min(quiet, limit * factor) : Math.max(quiet, Math.min(limit, 2 * mostInFlight), limit / factor)
}

/** @returns the seconds until all purchases in flight have completed, within bounds */
function retrySeconds(inFlight: number, perSecond: number): number {
  const queueSeconds = perSecond > 0 ? inFlight / perSecond : 0
  return Math.min(Math.max(MIN_RETRY_S, Math.ceil(queueSeconds)), MAX_RETRY_S)
}

type Entry = {
  readonly since: number
  /** No other purchase was in flight when this purchase entered. */
  readonly isFirst: boolean
}

const startSample = (since: number, inFlight: number, before?: Sample): Sample => ({
  since,
  quickestMs: Number.POSITIVE_INFINITY,
  entered: 0,
  completed: 0,
  mostInFlight: inFlight,
  isLate: false,
  hasRefused: false,
  isFull: false,
  wasFull: before?.isFull ?? false,
  slowRefusalAt: before?.slowRefusalAt ?? Number.NEGATIVE_INFINITY,
})
