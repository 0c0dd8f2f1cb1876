import { expect, test } from 'vitest'
import { createCurveLoad, curveSettings } from './curve-load.fixture.ts'
import { type CurveReport, curveToJson, formatCurve, listCurveFailures, listCurveNotes } from './curve-format.ts'
import { renderCurveReport } from './curve-report.ts'

const point = (factor: number, changes = {}) => ({ factor, ...createCurveLoad(factor * 6, 6, changes) })
const report: CurveReport = {
  url: 'http://127.0.0.1:8080',
  startedAt: '2026-01-01T00:00:00.000Z',
  settings: curveSettings,
  search: { loads: [createCurveLoad(5, 6), createCurveLoad(10, 6)], capacityPerSecond: 6, isGrowing: false },
  points: [point(0.5), point(1), point(2), point(4, { buyP50Ms: 1234.56 })],
  recovery: {
    normalP50Ms: 40,
    limitMs: 80,
    purchases: [900, null, 70, 60, 50, 40, 30].map((ms, index) => ({ atMs: index * 1000, ms })),
    recoveredMs: 2000,
  },
}

test('a curve without a lost order passes', () => {
  expect(listCurveFailures(report)).toEqual([])
})

test('a lost paid order fails the curve, with the factor in the sentence', () => {
  const points = [point(0.5), point(1, { lost: 1 }), point(2), point(4, { lost: 3, failures: ['"Money" fails: x.'] })]
  expect(listCurveFailures({ ...report, points })).toEqual([
    'At 1 time the capacity, 1 paid order was lost: it ended without a channel.',
    'At 4 times the capacity, 3 paid orders were lost: they ended without a channel.',
    'At 4 times the capacity: "Money" fails: x.',
  ])
})

test('a lost paid order of the search and Ctrl-C fail the curve', () => {
  const loads = [createCurveLoad(5, 6), createCurveLoad(10, 6, { lost: 2, endedBy: 'interrupt' })]
  expect(listCurveFailures({ search: { ...report.search, loads }, points: [] })).toEqual([
    'At 10 orders per second, 2 paid orders were lost: they ended without a channel.',
    'Ctrl-C ended the curve before its end.',
  ])
})

test('the text has a row for each load, and the time of the recovery', () => {
  const text = formatCurve(report)
  expect(text).toContain('capacity  6.00 sold per second')
  expect(text).toMatch(/TIMES +ORDERS PER SECOND +DUE +REFUSED +SOLD +SOLD PER SECOND +PAID LOST +BUY P50 MS +BUY P99 MS/)
  expect(text).toMatch(/ 4 +24 +240 +180 +60 +6 +0 +1,235 +90\n/)
  expect(text).toContain('From 2 s after the overload, 5 purchases in a row were below 80 ms')
})

test('the JSON has every load and every purchase of the recovery', () => {
  expect(curveToJson(report)).toMatchObject({
    capacity_per_second: 6,
    search: [{ orders_per_second: 5 }, { orders_per_second: 10 }],
    loads: [{ times: 0.5 }, { times: 1 }, { times: 2 }, { times: 4, refused: 180, sold: 60, paid_lost: 0, buy_p50_ms: 1235 }],
    recovery: {
      normal_p50_ms: 40,
      recovered_seconds: 2,
      purchases: report.recovery?.purchases.map(({ atMs, ms }) => ({ at_ms: atMs, invoice_ms: ms })),
    },
    failures: [],
  })
})

test('notes say that the capacity may be higher or lower, that the market did not recover, and that the recovery is unknown', () => {
  const { recovery, search } = report
  expect(listCurveNotes({ ...report, search: { ...search, isGrowing: true } })).toContainEqual(
    expect.stringMatching(/^The goodput still grew at 10 orders per second/),
  )
  expect(listCurveNotes({ ...report, recovery: recovery && { ...recovery, recoveredMs: null } })).toEqual([
    expect.stringMatching(/^No 5 purchases in a row were below 80 ms, .*, in 6 s after the overload\.$/),
  ])
  expect(listCurveNotes({ ...report, points: [point(0.5, { refused: 12 }), ...report.points.slice(1)] })).toContainEqual(
    '0.5 times the capacity is too much: the market refused 12 of 30 orders. Use a longer --duration.',
  )
  expect(listCurveNotes({ ...report, recovery: null })).toEqual([expect.stringMatching(/recovery is unknown\.$/)])
})

test('the page has a chart of each figure, and the sentences of a failure', () => {
  const page = renderCurveReport({ ...report, points: [point(0.5), point(1, { lost: 1, buyP99Ms: null })] })
  for (const title of [
    'Orders per second',
    'Time to the invoice of buy',
    'Paid orders lost',
    'after the overload',
    'in the search',
  ])
    expect(page).toMatch(new RegExp(`<figcaption>[^<]*${title}`))
  expect(page).toContain('<p class="verdict bad">At 1 time the capacity, 1 paid order was lost')
  expect(page).not.toMatch(/NaN|undefined/)
})
