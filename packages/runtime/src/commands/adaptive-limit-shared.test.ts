import fc from 'fast-check'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createAdaptiveLimit } from './adaptive-limit.ts'

const ANSWER_MS = 10_000
const [SETTLED_MS, END_MS] = [30_000, 150_000]

type Count = { offered: number; ready: number; late: number }

/**
 * Simulates one market behind several limits that know nothing of each other. The market works on one purchase after the other,
 * in order of arrival, and drops purchases that are late.
 * @param rates the purchases per second that arrive at each limit
 * @returns the purchases of each limit after SETTLED_MS
 */
function runShared(capacity: number, rates: readonly number[]): readonly Count[] {
  let [now, freeAt] = [0, 0]
  const counts: Count[] = rates.map(() => ({ offered: 0, ready: 0, late: 0 }))
  const limits = rates.map(() => createAdaptiveLimit({ monotonicMs: () => now }, ANSWER_MS))
  const dueTimes = rates.map((rate, index) => (index * 1000) / (rate * rates.length))
  const ends: { readonly at: number; readonly report: () => void }[] = []
  while (now < END_MS) {
    const due = Math.min(...dueTimes)
    const index = dueTimes.indexOf(due)
    const count = counts[index] ?? assert.fail()
    dueTimes[index] = due + 1000 / (rates[index] ?? assert.fail())
    for (const end of ends.splice(0, ends.findLastIndex(({ at }) => at <= due) + 1)) {
      now = end.at
      end.report()
    }
    now = due
    const isCounted = due > SETTLED_MS
    if (isCounted) count.offered++
    const entry = limits[index]?.enter() ?? assert.fail()
    if ('busyForSeconds' in entry) continue
    const beginsAt = Math.max(freeAt, due)
    const isLate = beginsAt + 1000 / capacity - due > ANSWER_MS
    if (beginsAt - due <= ANSWER_MS) freeAt = beginsAt + 1000 / capacity
    if (isCounted) count[isLate ? 'late' : 'ready']++
    const { admitted } = entry
    ends.push({ at: isLate ? due + ANSWER_MS : freeAt, report: () => (isLate ? admitted.reportLate() : admitted.reportReady()) })
    ends.sort((one, other) => one.at - other.at)
  }
  return counts
}

const sum = (values: readonly number[]): number => values.reduce((whole, value) => whole + value, 0)
const perSecond = (count: number): number => (count * 1000) / (END_MS - SETTLED_MS)

test.each([2, 4])('%d limits before one overloaded market serve its capacity in time, and none of them starves', (limits) => {
  const load = fc.record({
    capacity: fc.integer({ min: 5, max: 100 }),
    times: fc.double({ min: 1.2, max: 10, noNaN: true }),
    shares: fc.array(fc.double({ min: 0.5, max: 2, noNaN: true }), { minLength: limits, maxLength: limits }),
  })
  fc.assert(
    fc.property(load, ({ capacity, times, shares }) => {
      const rates = shares.map((share) => (capacity * times * share) / sum(shares))
      const counts = runShared(capacity, rates)
      const served = perSecond(sum(counts.map(({ ready }) => ready)))
      assert.ok(served > 0.9 * capacity, `${served} of ${capacity} per second`)
      assert.ok(perSecond(sum(counts.map(({ late }) => late))) <= 0.01 * served)
      for (const { offered, ready } of counts) {
        const fairShare = Math.min(perSecond(offered), capacity / limits)
        assert.ok(perSecond(ready) > 0.1 * fairShare, `${perSecond(ready)} of ${fairShare} per second`)
      }
    }),
    { numRuns: 20 },
  )
})
