import fc from 'fast-check'
import { expect, test } from 'vitest'
import { combineRates } from './rate.ts'

const NOW = 1_800_000_000_000
const limits = { rateMaxAgeSeconds: 300, rateSpreadPercent: 2, sources: 1 }
const sample = (source: string, centsPerBtc: bigint, agoMs = 0) => ({ source, centsPerBtc, at: NOW - agoMs })

test('the rate is the median of the samples, with the timestamp of the oldest', () => {
  expect(combineRates([sample('a', 10_000_000n)], NOW, limits)).toEqual({
    rate: { centsPerBtc: '10000000', at: NOW, samples: [{ source: 'a', centsPerBtc: '10000000', at: NOW }] },
  })
  expect(
    combineRates([sample('a', 10_100_000n), sample('b', 10_000_000n, 70), sample('c', 10_150_000n)], NOW, limits),
  ).toMatchObject({
    rate: { centsPerBtc: '10100000', at: NOW - 70 },
  })
  expect(combineRates([sample('a', 10_000_000n), sample('b', 10_000_003n)], NOW, limits)).toMatchObject({
    rate: { centsPerBtc: '10000001' },
  })
})

test('a missing, old or zero rate is refused, and so are sources that differ', () => {
  expect(combineRates([], NOW, limits)).toMatchObject({ refused: { code: 'RATE_STALE' } })
  expect(combineRates([sample('a', 1n, 300_001)], NOW, limits)).toMatchObject({ refused: { code: 'RATE_STALE' } })
  expect(combineRates([sample('a', 0n)], NOW, limits)).toMatchObject({ refused: { code: 'RATE_STALE' } })
  expect(combineRates([sample('a', 10_000_000n), sample('b', 10_300_000n)], NOW, limits)).toMatchObject({
    refused: { code: 'RATES_DIFFER' },
  })
  // A sample that is too old does not count, not even as a difference.
  expect(combineRates([sample('a', 10_000_000n), sample('b', 90_000_000n, 300_001)], NOW, limits)).toMatchObject({
    rate: { centsPerBtc: '10000000' },
  })
})

test('a single sample is accepted only if there is a single source', () => {
  const withSources = (sources: number) => ({ ...limits, sources })
  expect(combineRates([sample('a', 10_000_000n)], NOW, withSources(3))).toMatchObject({ refused: { code: 'RATE_STALE' } })
  expect(combineRates([sample('a', 10_000_000n), sample('b', 10_000_000n, 300_001)], NOW, withSources(2))).toMatchObject({
    refused: { code: 'RATE_STALE' },
  })
  expect(combineRates([sample('a', 10_000_000n), sample('b', 10_000_000n)], NOW, withSources(3))).toHaveProperty('rate')
  expect(combineRates([sample('a', 10_000_000n)], NOW, withSources(1))).toHaveProperty('rate')
  expect(combineRates([], NOW, withSources(0))).toMatchObject({ refused: { code: 'RATE_STALE' } })
})

test('the rate lies between the samples of its sources, in any order', () => {
  const some = fc.array(fc.bigInt({ min: 10_000_000n, max: 10_100_000n }), { minLength: 1, maxLength: 7 })
  fc.assert(
    fc.property(some, (prices) => {
      const samples = prices.map((price, n) => sample(`${n}`, price))
      const [one, other] = [combineRates(samples, NOW, limits), combineRates(samples.toReversed(), NOW, limits)]
      if (!('rate' in one) || !('rate' in other)) throw new Error('within the spread there is a rate')
      const rate = BigInt(one.rate.centsPerBtc)
      expect(other.rate.centsPerBtc).toBe(one.rate.centsPerBtc)
      expect(prices.some((price) => price <= rate) && prices.some((price) => price >= rate)).toBe(true)
    }),
  )
})
