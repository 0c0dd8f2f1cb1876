import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type AdmittedPurchase, createAdaptiveLimit } from './adaptive-limit.ts'

const ANSWER_MS = 10_000

type Load = {
  /** Milliseconds of work per purchase, at an instant. */
  readonly workMs: (at: number) => number
  /** Purchases per second, at an instant. */
  readonly perSecond: (at: number) => number
  readonly endMs: number
}
type Purchase = { readonly at: number; readonly outcome: 'ready' | 'late' | 'busy'; readonly tookMs: number }

/** Simulates a market that works on one purchase after the other, in order of arrival, and drops purchases that are late. */
function run({ workMs, perSecond, endMs }: Load): readonly Purchase[] {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const purchases: Purchase[] = []
  const ends: { readonly at: number; readonly report: () => void }[] = []
  let freeAt = 0
  for (let due = 0; due < endMs; due += 1000 / perSecond(due)) {
    for (const end of ends.splice(0, ends.findLastIndex(({ at }) => at <= due) + 1)) {
      now = end.at
      end.report()
    }
    now = due
    const entry = admission.enter()
    if ('busyForSeconds' in entry) {
      purchases.push({ at: due, outcome: 'busy', tookMs: 0 })
      continue
    }
    const beginsAt = Math.max(freeAt, due)
    freeAt = beginsAt + (beginsAt - due > ANSWER_MS ? 0 : workMs(beginsAt))
    const tookMs = freeAt - due
    const isLate = tookMs > ANSWER_MS
    const { admitted } = entry
    ends.push({ at: isLate ? due + ANSWER_MS : freeAt, report: () => (isLate ? admitted.reportLate() : admitted.reportReady()) })
    ends.sort((one, other) => one.at - other.at)
    purchases.push({ at: due, outcome: isLate ? 'late' : 'ready', tookMs })
  }
  return purchases
}

const ready = (all: readonly Purchase[]): readonly Purchase[] => all.filter(({ outcome }) => outcome === 'ready')
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const between = (all: readonly Purchase[], from: number, to: number) => all.filter(({ at }) => at >= from && at < to)

describe('a market with a capacity of twenty purchases per second', () => {
  const workMs = () => 50

  test('refuses no purchase while the load is below its capacity', () => {
    const all = run({ workMs, perSecond: () => 19, endMs: 120_000 })
    assert.deepEqual(new Set(all.map(({ outcome }) => outcome)), new Set(['ready']))
  })

  test('refuses no purchase in a burst that it completes in time, once its speed is known', () => {
    const all = run({ workMs, perSecond: (at) => (at % 30_000 < 1000 && at > 1000 ? 55 : 5), endMs: 120_000 })
    assert.deepEqual(new Set(all.map(({ outcome }) => outcome)), new Set(['ready']))
  })

  test.each([2, 4, 20])('still serves its capacity at %d times the load, with no late purchase, and recovers soon', (times) => {
    const all = run({ workMs, perSecond: (at) => (at < 120_000 ? 20 * times : 10), endMs: 180_000 })
    assert.equal(all.filter(({ outcome }) => outcome === 'late').length, 0)
    const served = ready(between(all, 10_000, 120_000)).length / 110
    assert.ok(served > 0.95 * 20, `${served} per second`)
    assert.ok(median(ready(between(all, 20_000, 120_000)).map(({ tookMs }) => tookMs)) < 3000)
    assert.ok(median(ready(between(all, 125_000, 180_000)).map(({ tookMs }) => tookMs)) <= 50)
    assert.equal(between(all, 130_000, 180_000).filter(({ outcome }) => outcome === 'busy').length, 0)
  })

  test('adapts to a falling and a rising capacity', () => {
    // In the second minute, payments use most of the machine.
    const slow = (at: number) => at >= 60_000 && at < 120_000
    const all = run({ workMs: (at) => (slow(at) ? 400 : 50), perSecond: () => 40, endMs: 240_000 })
    const late = all.filter(({ outcome }) => outcome === 'late')
    // Only purchases that the old limit admitted are late.
    assert.ok(late.every(({ at }) => at >= 57_000 && at < 70_000))
    assert.ok(late.length < 60)
    assert.ok(ready(between(all, 75_000, 120_000)).length / 45 > 0.8 * 2.5)
    assert.ok(ready(between(all, 140_000, 240_000)).length / 100 > 0.9 * 20)
  })
})

test('for any capacity and any overload, no purchase is late after 30 s, and most of the capacity is used', () => {
  const load = fc.record({ capacity: fc.integer({ min: 2, max: 100 }), times: fc.double({ min: 1.2, max: 20, noNaN: true }) })
  fc.assert(
    fc.property(load, ({ capacity, times }) => {
      const all = run({ workMs: () => 1000 / capacity, perSecond: () => capacity * times, endMs: 90_000 })
      const settled = between(all, 30_000, 90_000)
      assert.equal(settled.filter(({ outcome }) => outcome === 'late').length, 0)
      assert.ok(ready(settled).length / 60 > 0.8 * capacity)
    }),
    { numRuns: 20 },
  )
})

test('a limit that fell under load rises again when the load is low', () => {
  const perSecond = (at: number) => (at < 60_000 ? 80 : at < 100_000 ? 0.2 : 5)
  const all = run({ workMs: () => 50, perSecond, endMs: 160_000 })
  assert.equal(between(all, 65_000, 160_000).filter(({ outcome }) => outcome === 'busy').length, 0)
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const enter = () => 'admitted' in admission.enter()
  while (enter());
  now = 20_000
  assert.equal(enter(), false)
  now = 120_000
  assert.equal(enter(), false, 'the admitted purchases are still in flight')
})

test('a market soon admits its capacity again after an outage', () => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const ends: { readonly at: number; readonly report: () => void }[] = []
  const OUTAGE_MS = 90_000
  const TAKES_MS = 1500
  let left = 20
  for (; left > 0 && now < OUTAGE_MS + 60_000; now += 250) {
    for (const { report } of ends.splice(0, ends.findLastIndex(({ at }) => at <= now) + 1)) report()
    // All refused buyers try again.
    for (let asks = left; asks > 0; asks--) {
      const entry = admission.enter()
      if ('busyForSeconds' in entry) break
      const isDown = now < OUTAGE_MS
      const { admitted } = entry
      ends.push({
        at: now + (isDown ? ANSWER_MS : TAKES_MS),
        report: () => (isDown ? admitted.reportLate() : admitted.reportReady()),
      })
      if (!isDown) left--
    }
    ends.sort((one, other) => one.at - other.at)
  }
  const tookMs = now - OUTAGE_MS
  assert.ok(left === 0 && tookMs < ANSWER_MS + 2000, `${left} are left after ${tookMs} ms`)
})

test('a market in an outage admits one purchase at a time, and returns the seconds until a retry', () => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const waiting: { reportLate(): void }[] = []
  for (; now < 60_000; now += 100) {
    const entry = admission.enter()
    if ('admitted' in entry) waiting.push(entry.admitted)
    else assert.ok(entry.busyForSeconds >= 2 && entry.busyForSeconds <= 60)
    if (now % 10_000 === 9900) for (const one of waiting.splice(0)) one.reportLate()
  }
  assert.ok(waiting.length <= 1, `${waiting.length} wait`)
})

/** @returns the number of purchases that the limit admits at once */
function countAdmitted(admission: ReturnType<typeof createAdaptiveLimit>): number {
  let count = 0
  while ('admitted' in admission.enter()) count++
  return count
}

test('a new market takes twenty purchases at once, and so does an idle one after an overload', () => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const admit = () => {
    const entry = admission.enter()
    return 'admitted' in entry ? [entry.admitted] : []
  }
  const first = Array.from({ length: 100 }, admit).flat()
  assert.equal(first.length, 20)
  now = ANSWER_MS
  for (const purchase of first) purchase.reportLate()
  assert.ok(countAdmitted(admission) < 20)
  // A replica that is idle for a minute forgets the overload.
  const idle = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  for (const purchase of Array.from({ length: 20 }, () => idle.enter()))
    if ('admitted' in purchase) purchase.admitted.reportLate()
  now += 60_000
  assert.ok(countAdmitted(idle) >= 20)
})

test.each([
  ['10 ms', 10],
  ['20 s', 20_000],
])('purchases that are refused for their content, one per %s, do not change the limit', (_, everyMs) => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const before = countAdmitted(createAdaptiveLimit({ monotonicMs: () => 0 }, ANSWER_MS))
  for (; now < 200_000; now += everyMs) {
    const entry = admission.enter()
    assert.ok('admitted' in entry)
    entry.admitted.reportRefused()
  }
  assert.equal(countAdmitted(admission), before)
})

test('a market without purchases for a minute has the limit of a new market', () => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const before = countAdmitted(createAdaptiveLimit({ monotonicMs: () => 0 }, ANSWER_MS))
  now = 60_000
  assert.equal(countAdmitted(admission), before)
})

test('a slow market that works on many purchases at once is not limited to one purchase at a time', () => {
  let now = 0
  const TAKES_MS = 3000
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  const ends: { readonly at: number; readonly report: () => void }[] = []
  const refusedAt: number[] = []
  // First an outage makes all purchases late, so that the limit falls to one.
  for (; now < 240_000; now += 250) {
    for (const { report } of ends.splice(0, ends.findLastIndex(({ at }) => at <= now) + 1)) report()
    const isDown = now < 90_000
    const entry = admission.enter()
    if ('busyForSeconds' in entry) {
      refusedAt.push(now)
      continue
    }
    const { admitted } = entry
    const at = now + (isDown ? ANSWER_MS : TAKES_MS)
    ends.push({ at, report: () => (isDown ? admitted.reportLate() : admitted.reportReady()) })
    ends.sort((one, other) => one.at - other.at)
  }
  assert.ok(refusedAt.some((at) => at < 90_000))
  assert.deepEqual(
    refusedAt.filter((at) => at > 150_000),
    [],
  )
})

/**
 * Simulates a market whose processor works on paid orders first. Each purchase that is ready in time is paid, and its order
 * causes work three times: for the seller's acceptance, the channel and the settlement.
 * @returns the number of ready and of late purchases after SETTLED_MS
 */
function runPaidFirst({ purchaseMs, paidMs, perSecond }: Record<'purchaseMs' | 'paidMs' | 'perSecond', number>) {
  const TICK_MS = 10
  const SETTLED_MS = 60_000
  let now = 0
  let paidLeftMs = 0
  const paidAt = new Map<number, number>()
  const queue: { readonly at: number; readonly admitted: AdmittedPurchase; leftMs: number }[] = []
  const count = { ready: 0, late: 0 }
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  for (; now < 300_000; now += TICK_MS) {
    paidLeftMs += paidAt.get(now) ?? 0
    if (now % (1000 / perSecond) < TICK_MS) {
      const entry = admission.enter()
      if ('admitted' in entry) queue.push({ at: now, admitted: entry.admitted, leftMs: purchaseMs })
    }
    while (queue[0] && now - queue[0].at > ANSWER_MS) {
      queue.shift()?.admitted.reportLate()
      if (now > SETTLED_MS) count.late++
    }
    const [first] = queue
    if (paidLeftMs > 0) paidLeftMs -= TICK_MS
    else if (first && (first.leftMs -= TICK_MS) <= 0) {
      queue.shift()?.admitted.reportReady()
      for (const delayMs of [500, 5000, 20_000]) paidAt.set(now + delayMs, (paidAt.get(now + delayMs) ?? 0) + paidMs / 3)
      if (now > SETTLED_MS) count.ready++
    }
  }
  return count
}

test.each([
  [2, 400, 0.05],
  [4, 400, 0.05],
  [4, 900, 0.05],
  // Paid work arrives in batches that take longer than the time for an answer, and no limit can predict them.
  [20, 900, 0.35],
])('a market that is busy with paid orders admits few late purchases (%d per second, %d ms)', (perSecond, paidMs, lateShare) => {
  const { ready: readyCount, late } = runPaidFirst({ purchaseMs: 100, paidMs, perSecond })
  assert.ok(late <= readyCount * lateShare, `${late} are late, and ${readyCount} are ready`)
  assert.ok(readyCount > (0.9 * 240_000) / (100 + paidMs), `${readyCount} are ready`)
})

test('a full limit is full for those who ask before they enter, and a question counts as no refusal', () => {
  let refusals = 0
  const observer = { onInFlight: () => {}, onLimit: () => {}, onRefused: () => void refusals++ }
  const admission = createAdaptiveLimit({ monotonicMs: () => 0 }, ANSWER_MS, observer)
  let entry = admission.enter()
  for (; 'admitted' in entry && !admission.isFull(); entry = admission.enter());
  assert.deepEqual([refusals, 'admitted' in entry], [0, true])
  assert.ok('busyForSeconds' in admission.enter())
  if ('admitted' in entry) entry.admitted.reportReady()
  assert.equal(admission.isFull(), false)
})

/** Purchases for silent nodes are refused after this time, by `PURCHASE_REACH_TIMEOUT_MS` of settlement and the time of a purchase. */
const SILENT_MS = 5300

/**
 * Runs a market that has free capacity for ten minutes, with purchases for silent nodes and others.
 * @returns the times at which the market refused one of the others, and the limits
 */
function runSilentNodes(perSecond: number, silentPerMinute: number) {
  let now = 0
  const limits: number[] = []
  const observer = { onInFlight: () => {}, onLimit: (limit: number) => void limits.push(limit), onRefused: () => {} }
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS, observer)
  const ends: { readonly at: number; readonly report: () => void }[] = []
  const enter = (tookMs: number, report: (admitted: AdmittedPurchase) => void): boolean => {
    const entry = admission.enter()
    if ('admitted' in entry) ends.push({ at: now + tookMs, report: () => report(entry.admitted) })
    return 'admitted' in entry
  }
  const refusedAt: number[] = []
  for (; now < 600_000; now += 10) {
    for (const end of ends.filter(({ at }) => at === now)) end.report()
    if (now % Math.round(60_000 / silentPerMinute) < 10) enter(SILENT_MS, (admitted) => admitted.reportRefused())
    // At the end, a market without other purchases gets one.
    const isDue = perSecond > 0 ? now % (1000 / perSecond) < 10 : now === 599_990
    if (isDue && !enter(300, (admitted) => admitted.reportReady())) refusedAt.push(now)
  }
  return { refusedAt, limits }
}

test.each([
  [0, 20],
  [0.5, 20],
  [1, 60],
  [5, 120],
])(
  'purchases for silent nodes keep no other purchase out (%d other per second, %d for silent nodes a minute)',
  (perSecond, silentPerMinute) => {
    const { refusedAt, limits } = runSilentNodes(perSecond, silentPerMinute)
    assert.deepEqual(refusedAt, [])
    assert.ok(Math.min(...limits) >= 20, `the limit was ${Math.min(...limits)}`)
  },
)

test.each([
  [0, 600],
  [0.2, 240],
  [0.5, 600],
  [1, 600],
  [2, 1200],
])(
  'purchases for silent nodes that reach the limit keep others out for half a minute (%d other per second, %d a minute)',
  (perSecond, silentPerMinute) => {
    const { refusedAt, limits } = runSilentNodes(perSecond, silentPerMinute)
    assert.deepEqual(
      refusedAt.filter((at) => at > 30_000),
      [],
    )
    assert.ok((limits.at(-1) ?? 0) >= 20, `the last limit was ${limits.at(-1)}`)
  },
)

test('a limit that fell in an outage grows although every purchase is refused for its content', () => {
  let now = 0
  const admission = createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS)
  for (let outage = 0; outage < 20; outage++) {
    const entry = admission.enter()
    now += ANSWER_MS
    if ('admitted' in entry) entry.admitted.reportLate()
  }
  let refused = 0
  const leaving: { readonly at: number; readonly admitted: AdmittedPurchase }[] = []
  for (const end = now + 60_000; now < end; now += 100) {
    while (leaving[0] && leaving[0].at <= now) leaving.shift()?.admitted.reportRefused()
    const entry = admission.enter()
    if ('admitted' in entry) leaving.push({ at: now + 300, admitted: entry.admitted })
    else if (now > end - 30_000) refused++
  }
  assert.equal(refused, 0)
})
