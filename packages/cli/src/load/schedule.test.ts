import { expect, test } from 'vitest'
import { type Pace, schedule } from './schedule.ts'
import { BEHAVIOURS, KINDS, readShares } from './shares.ts'

const pace: Pace = {
  orders: 4000,
  ratePerSecond: 20,
  arrivals: 'poisson',
  mix: readShares('buy:70,lsps1:20,manual:10', KINDS),
  seed: 1,
  durationMs: 3_600_000,
  privatePercent: 25,
}

test('the same seed gives the same orders at the same moments, another one others', () => {
  expect(schedule(pace)).toEqual(schedule(pace))
  expect(schedule({ ...pace, seed: 2 })).not.toEqual(schedule(pace))
})

test('constant arrivals are evenly spaced, from the very beginning', () => {
  const times = schedule({ ...pace, arrivals: 'constant', orders: 5 }).map(({ atMs }) => atMs)
  expect(times).toEqual([0, 50, 100, 150, 200])
})

test('poisson arrivals have the rate on average, and gaps that are exponential', () => {
  const times = schedule(pace).map(({ atMs }) => atMs)
  const gaps = times.map((at, index) => at - (times[index - 1] ?? 0))
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  expect(mean).toBeGreaterThan(47)
  expect(mean).toBeLessThan(53)
  // Of an exponential distribution one part in e is above the mean.
  const above = gaps.filter((gap) => gap > mean).length / gaps.length
  expect(Math.abs(above - 1 / Math.E)).toBeLessThan(0.03)
  expect(gaps.every((gap) => gap >= 0)).toBe(true)
})

test('kinds and private channels come in their shares; by hand nothing is private', () => {
  const list = schedule(pace)
  const share = (part: readonly unknown[]): number => part.length / list.length
  expect(share(list.filter(({ kind }) => kind === 'buy'))).toBeCloseTo(0.7, 1)
  expect(share(list.filter(({ kind }) => kind === 'lsps1'))).toBeCloseTo(0.2, 1)
  expect(share(list.filter(({ isPrivate }) => isPrivate))).toBeCloseTo(0.25 * 0.9, 1)
  expect(list.some(({ kind, isPrivate }) => kind === 'manual' && isPrivate)).toBe(false)
})

test('no order begins after the end', () => {
  const list = schedule({ ...pace, durationMs: 1000 })
  expect(list.length).toBeGreaterThan(5)
  expect(list.length).toBeLessThan(50)
  expect(list.every(({ atMs }) => atMs <= 1000)).toBe(true)
})

test('shares are read as they are written', () => {
  expect(readShares('good:80, slow:10.5 ,fails:9.5', BEHAVIOURS)).toEqual([
    { word: 'good', percent: 80 },
    { word: 'slow', percent: 10.5 },
    { word: 'fails', percent: 9.5 },
  ])
  expect(readShares('buy:33.33,lsps1:33.33,manual:33.34', KINDS)).toHaveLength(3)
})

test.each([
  ['rude:100', /"rude" is none of buy, lsps1, manual, abandon, cancel/],
  ['', /"" is none of/],
  ['buy', /not written as buy:percent/],
  ['buy:50:50', /not written as buy:percent/],
  ['buy:60,lsps1:30', /add up to 90, and have to be 100/],
  ['buy:100,lsps1:1', /add up to 101/],
  ['buy:120,lsps1:-20', /share of lsps1 is -20/],
  ['buy:100,lsps1:0', /share of lsps1 is 0: leave it out/],
  ['buy:NaN', /"NaN", which is no number/],
  ['buy:Infinity', /no number/],
  ['buy:1e2', /no number/],
  ['buy:50,buy:50', /names buy twice/],
])('shares "%s" are refused with a sentence', (text, sentence) => {
  expect(() => readShares(text, KINDS)).toThrow(sentence)
})
