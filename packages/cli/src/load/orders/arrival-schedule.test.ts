import { expect, test } from 'vitest'
import { type WorkloadSettings, scheduleArrivals } from './arrival-schedule.ts'
import { SELLER_BEHAVIOUR_OPTIONS, ORDER_KINDS, parseMix } from './mix.ts'

const pace: WorkloadSettings = {
  orders: 4000,
  ratePerSecond: 20,
  arrivals: 'poisson',
  mix: parseMix('buy:70,lsps1:20,manual:10', ORDER_KINDS),
  seed: 1,
  durationMs: 3_600_000,
  privatePercent: 25,
}

test('equal seeds give equal schedules, and different seeds give different schedules', () => {
  expect(scheduleArrivals(pace)).toEqual(scheduleArrivals(pace))
  expect(scheduleArrivals({ ...pace, seed: 2 })).not.toEqual(scheduleArrivals(pace))
})

test('constant arrivals are evenly spaced from time 0', () => {
  const times = scheduleArrivals({ ...pace, arrivals: 'constant', orders: 5 }).map(({ atMs }) => atMs)
  expect(times).toEqual([0, 50, 100, 150, 200])
})

test('poisson arrivals have the given mean rate and exponential gaps', () => {
  const times = scheduleArrivals(pace).map(({ atMs }) => atMs)
  const gaps = times.map((at, index) => at - (times[index - 1] ?? 0))
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  expect(mean).toBeGreaterThan(47)
  expect(mean).toBeLessThan(53)
  // In an exponential distribution a share of 1/e lies above the mean.
  const above = gaps.filter((gap) => gap > mean).length / gaps.length
  expect(Math.abs(above - 1 / Math.E)).toBeLessThan(0.03)
  expect(gaps.every((gap) => gap >= 0)).toBe(true)
})

test('kinds and private channels have their shares, and manual orders are never private', () => {
  const list = scheduleArrivals(pace)
  const share = (part: readonly unknown[]): number => part.length / list.length
  expect(share(list.filter(({ kind }) => kind === 'buy'))).toBeCloseTo(0.7, 1)
  expect(share(list.filter(({ kind }) => kind === 'lsps1'))).toBeCloseTo(0.2, 1)
  expect(share(list.filter(({ isPrivate }) => isPrivate))).toBeCloseTo(0.25 * 0.9, 1)
  expect(list.some(({ kind, isPrivate }) => kind === 'manual' && isPrivate)).toBe(false)
})

test('no order starts after the duration', () => {
  const list = scheduleArrivals({ ...pace, durationMs: 1000 })
  expect(list.length).toBeGreaterThan(5)
  expect(list.length).toBeLessThan(50)
  expect(list.every(({ atMs }) => atMs <= 1000)).toBe(true)
})

test('parseMix parses names with percentages, and ignores spaces', () => {
  expect(parseMix('good:80, slow:10.5 ,fails:9.5', SELLER_BEHAVIOUR_OPTIONS)).toEqual([
    { word: 'good', percent: 80 },
    { word: 'slow', percent: 10.5 },
    { word: 'fails', percent: 9.5 },
  ])
  expect(parseMix('buy:33.33,lsps1:33.33,manual:33.34', ORDER_KINDS)).toHaveLength(3)
})

test.each([
  ['rude:100', /"rude" is not one of buy, lsps1, manual, abandon, cancel/],
  ['', /"" is not one of/],
  ['buy', /not written as buy:percent/],
  ['buy:50:50', /not written as buy:percent/],
  ['buy:60,lsps1:30', /add up to 90 instead of 100/],
  ['buy:100,lsps1:1', /add up to 101/],
  ['buy:120,lsps1:-20', /share of lsps1 is -20/],
  ['buy:100,lsps1:0', /share of lsps1 is 0: leave it out/],
  ['buy:NaN', /"NaN", which is not a number/],
  ['buy:Infinity', /not a number/],
  ['buy:1e2', /not a number/],
  ['buy:50,buy:50', /names buy twice/],
])('the mix "%s" is refused with an explanation', (text, sentence) => {
  expect(() => parseMix(text, ORDER_KINDS)).toThrow(sentence)
})
