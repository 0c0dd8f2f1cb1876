import { expect, test } from 'vitest'
import type { SecondSample } from '../orders/generator.ts'
import { type StepLatency, createLatencyMeter, type LatencyStep } from '../measurements/latency-meter.ts'
import { listReportNotes } from './report-notes.ts'
import { listFailures, outcomeToJson, formatOutcome } from './outcome-format.ts'
import { renderBarChart, renderLineChart } from './svg-charts.ts'
import { openProgressLine } from '../progress.ts'
import { renderReport } from './report.ts'
import type { LoadOutcome } from '../run-load.ts'

const MARKUP = '<script>alert("x")</script>'

const counts = {
  arrived: 0,
  shed: 0,
  held: 0,
  unasked: 0,
  placed: 0,
  refused: 0,
  requests: 0,
  unsent: 0,
  throttles: 0,
  errors: 0,
}
const meter = createLatencyMeter()
const createSecond = (index: number): SecondSample => {
  meter.record('get_order', 2 + index)
  meter.record('invoice (buy)', 40 * (index + 1))
  return {
    ...counts,
    atMs: index * 1000,
    arrived: index * 5,
    placed: index * 5,
    requests: index * 40,
    inFlight: index,
    statuses: new Map([
      ['WAITING_FOR_CHANNEL_OPEN', 3],
      ['VALID_CHANNEL_OPENING', index],
    ]),
    errorCounts: [],
    latencies: meter.takeInterval(),
  }
}

const outcome: LoadOutcome = {
  url: 'http://127.0.0.1:8080',
  startedAt: '2026-01-01T00:00:00.000Z',
  settings: {
    orders: 50,
    ratePerSecond: 5,
    arrivals: 'poisson',
    mix: [{ word: 'buy', percent: 100 }],
    seed: 9,
    durationMs: 60_000,
    privatePercent: 0,
    maxInFlight: 100,
    drainMs: 1000,
    timeoutMs: 1000,
    pollMs: 500,
    to: [],
    sellers: null,
    allowErrors: 1,
    allowUnfinished: false,
    allowShed: false,
  },
  endedBy: 'itself',
  tookMs: 12_000,
  arrivalsMs: 10_000,
  seconds: Array.from({ length: 12 }, (_, index) => createSecond(index)),
  counts: { ...counts, arrived: 50, placed: 48, requests: 400, errors: 2 },
  buyerResults: { sold: 48, paidUnserved: 0 },
  statuses: [['VALID_CHANNEL_OPENING', 48]],
  errors: [{ where: 'buy: order', code: 'NO_SELLER', count: 2, first: MARKUP }],
  latencies: meter.latencies(),
  curves: meter.curves(),
  checks: [
    { name: 'No message is parked', outcome: 'pass', detail: 'there are no parked keys' },
    { name: 'Money', outcome: 'fail', detail: MARKUP },
  ],
}

test('the page loads no other resource, and shows markup as text', () => {
  const page = renderReport(outcome)
  expect(page).toContain("default-src 'none'")
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\ssrc=|\shref=/)
  expect(page).toContain('&lt;script&gt;')
  expect(page.match(/<svg/g)?.length).toBeGreaterThan(5)
  expect(page).not.toMatch(/NaN|Infinity|undefined/)
})

test('the page of an empty run has no invalid numbers', () => {
  const page = renderReport({ ...outcome, seconds: [], latencies: [], curves: [], statuses: [], errors: [], checks: [] })
  expect(page).not.toMatch(/NaN|Infinity|undefined/)
})

test('failed checks and too many errors fail the run', () => {
  expect(listFailures(outcome)).toEqual([
    expect.stringMatching(/^"Money" fails: /),
    `2 errors, and 1 are allowed; most often buy: order: ${MARKUP}.`,
  ])
  expect(listFailures({ ...outcome, checks: [], settings: { ...outcome.settings, allowErrors: 2 } })).toEqual([])
})

test('notes below the latencies describe the omitted orders and polls', () => {
  const incomplete = { ...outcome, counts: { ...outcome.counts, shed: 9, held: 3 } }
  const note = /12 of the 50 due orders are missing from the latencies: 9 shed .*, 3 held back/
  expect(renderReport(incomplete)).toMatch(note)
  expect(formatOutcome(incomplete)).toMatch(note)
  const unaskedResult = { ...outcome, counts: { ...outcome.counts, unasked: 7 } }
  for (const text of [renderReport(unaskedResult), formatOutcome(unaskedResult)])
    expect(text).toMatch(/7 polls of get_order held back/)
  expect(renderReport(outcome) + formatOutcome(outcome)).not.toMatch(/missing from the latencies|polls of get_order|Missing from/)
})

const noMissing = { timedOut: 0, unsent: 0, missing: 0 }
const createLatency = (step: LatencyStep, ms: number, change: Partial<StepLatency> = {}): StepLatency => ({
  ...noMissing,
  step,
  count: 100,
  p50Ms: ms / 4,
  p90Ms: ms / 2,
  p99Ms: ms,
  p999Ms: ms * 2,
  maxMs: ms * 2,
  ...change,
})
const joinNotes = (...latencies: readonly StepLatency[]): string =>
  listReportNotes({ counts: outcome.counts, latencies }).join('\n')

test('unanswered and missing requests are in the table and in the notes', () => {
  const latencies = [
    createLatency('invoice (buy)', 900, { timedOut: 5, unsent: 2, missing: 3 }),
    {
      ...noMissing,
      step: 'settled' as const,
      count: 0,
      missing: 10,
      p50Ms: null,
      p90Ms: null,
      p99Ms: null,
      p999Ms: null,
      maxMs: null,
    },
    createLatency('get_order', 900, { timedOut: 4 }),
  ]
  const incomplete = { ...outcome, latencies }
  const sentences = [
    /as a lower bound of the latency: invoice \(buy\) 5, get_order 4\./,
    /never sent, because none of this program.*: invoice \(buy\) 2\./,
    /Missing from the figures, because .*: invoice \(buy\) 3, settled 10\./,
  ]
  expect(outcomeToJson(incomplete)).toMatchObject({
    latencies: [{ timed_out: 5, unsent: 2, missing: 3, max_ms: 1800 }, { count: 0, missing: 10, p99_ms: null }, { timed_out: 4 }],
    notes: sentences.map((sentence) => expect.stringMatching(sentence) as unknown),
  })
  const [page, text] = [renderReport(incomplete).replaceAll('&#39;', "'"), formatOutcome(incomplete)]
  for (const sentence of sentences)
    expect([page, text]).toEqual([expect.stringMatching(sentence), expect.stringMatching(sentence)])
  expect(page).toMatch(
    /<td>settled<\/td><td class="n">0<\/td>(<td class="n">0<\/td>){2}<td class="n">10<\/td>(<td class="n">-<\/td>){5}/,
  )
  expect(page).not.toMatch(/NaN|undefined|Infinity|null/)
  expect(text).toMatch(/STEP +COUNT +TIMED OUT +UNSENT +MISSING +P50/)
  expect(text).toMatch(/settled +0 +0 +0 +10 +- +-/)
  expect(formatOutcome(outcome)).toMatch(/STEP +COUNT +P50/)
})

test('the wait for a connection is reported only if it is not small compared with another latency', () => {
  const socketWait = createLatency('socket wait', 90)
  const sentence = /^Requests waited for one of this program's 256 connections, 180 ms at most \(p99 90 ms\)/
  expect(joinNotes(createLatency('get_order', 900), socketWait)).toMatch(sentence)
  expect(joinNotes(createLatency('invoice (buy)', 90_000), createLatency('page', 500), socketWait)).toMatch(sentence)
  // A few requests waited long.
  expect(joinNotes(createLatency('get_order', 9000), createLatency('socket wait', 0.001, { maxMs: 2000 }))).toMatch(
    /2000 ms at most \(p99 0\.001 ms\)/,
  )
  expect(joinNotes(createLatency('get_order', 1000), socketWait)).toBe('')
  expect(joinNotes(createLatency('start lag', 1), socketWait)).toBe('')
  expect(joinNotes(createLatency('get_order', 900))).toBe('')
})

test('the JSON and the text have the same figures', () => {
  expect(outcomeToJson(outcome)).toMatchObject({
    achieved_per_second: 4.8,
    statuses: { VALID_CHANNEL_OPENING: 48 },
    settings: { mix: 'buy:100', seed: 9 },
    checks: [{ outcome: 'pass' }, { outcome: 'fail' }],
  })
  const text = formatOutcome(outcome)
  expect(text).toMatch(/achieved +4\.80\/s/)
  expect(text).toMatch(/invoice \(buy\) +12 /)
  expect(text).toMatch(/VALID_CHANNEL_OPENING +48/)
})

test('lines stay within the chart, one point becomes a dot, zeros have an axis, and no points give no chart', () => {
  const chart = (points: readonly (readonly [number, number])[], isLog = false): string =>
    renderLineChart({ title: 'A', series: [{ name: 'a', points }], xLabel: 'x', y: String, isLog })
  const [, pointList = ''] =
    /points="([^"]+)"/.exec(
      chart(
        [
          [0, 0.5],
          [5, 3],
          [10, 1000],
        ],
        true,
      ),
    ) ?? []
  for (const pair of pointList.split(' ')) {
    const [x = -1, y = -1] = pair.split(',').map(Number)
    expect(x >= 0 && x <= 560 && y >= 0 && y <= 220).toBe(true)
  }
  expect(chart([[0, 0]])).toContain('<circle')
  expect(chart([])).toBe('')
  const ticksOf = (svg: string) => [...svg.matchAll(/<line class="grid".*?<text[^>]*>([^<]*)</g)].map(([, text]) => text)
  expect(
    ticksOf(
      chart([
        [1, 0],
        [2, 0],
      ]),
    ),
  ).toEqual(['0', '0.5', '1'])
  expect(renderBarChart('B', [])).toBe('')
})

test('a terminal gets one line that is rewritten, and a log gets lines without repetitions', () => {
  const renderProgress = (columns: number | undefined): string => {
    let text = ''
    const progress = openProgressLine({ write: (more) => void (text += more), ratePerSecond: 5, columns })
    for (let index = 1; index <= 60; index++) progress.show({ ...createSecond(Math.min(index, 20)), atMs: index * 1000 })
    progress.end()
    return text
  }
  const terminal = renderProgress(70)
  expect(terminal.split('\r').every((line) => line.length <= 70 + 3)).toBe(true)
  expect(terminal).not.toContain('\n')
  expect(terminal.endsWith('\r\u001B[K')).toBe(true)
  const log = renderProgress(undefined).trimEnd().split('\n')
  expect(log[0]).toBe('5 s | 5.0/s of 5/s | due 25, placed 25, in flight 5 | channel-open 3 valid-channel-opening 5 | no errors')
  expect(log.length).toBeLessThan(8)
})
