import { expect, test } from 'vitest'
import type { Second } from './drive.ts'
import { type Latency, openMeter, type Step } from './meter.ts'
import { notesOf } from './notes.ts'
import { failuresOf, outcomeJson, outcomeText } from './outcome.ts'
import { barChart, lineChart } from './plot.ts'
import { openProgress } from './progress.ts'
import { reportPage } from './report.ts'
import type { Outcome } from './run.ts'

const MARKUP = '<script>alert("x")</script>'

const counts = { arrived: 0, shed: 0, held: 0, unasked: 0, placed: 0, requests: 0, unsent: 0, throttles: 0, errors: 0 }
const meter = openMeter()
const second = (index: number): Second => {
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
    slice: meter.slice(),
  }
}

const outcome: Outcome = {
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
  seconds: Array.from({ length: 12 }, (_, index) => second(index)),
  counts: { ...counts, arrived: 50, placed: 48, requests: 400, errors: 2 },
  statuses: [['VALID_CHANNEL_OPENING', 48]],
  errors: [{ where: 'buy: order', code: 'NO_SELLER', count: 2, first: MARKUP }],
  latencies: meter.latencies(),
  curves: meter.curves(),
  checks: [
    { name: 'Nothing is parked', outcome: 'pass', detail: 'no message waits for a fix' },
    { name: 'Money', outcome: 'fail', detail: MARKUP },
  ],
}

test('the page asks nobody for anything, and shows markup as text', () => {
  const page = reportPage(outcome)
  expect(page).toContain("default-src 'none'")
  expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\ssrc=|\shref=/)
  expect(page).toContain('&lt;script&gt;')
  expect(page.match(/<svg/g)?.length).toBeGreaterThan(5)
  expect(page).not.toMatch(/NaN|Infinity|undefined/)
})

test('a run of a moment has a page, too', () => {
  const page = reportPage({ ...outcome, seconds: [], latencies: [], curves: [], statuses: [], errors: [], checks: [] })
  expect(page).not.toMatch(/NaN|Infinity|undefined/)
})

test('failed checks and too many errors make it a failure', () => {
  expect(failuresOf(outcome)).toEqual([
    expect.stringMatching(/^"Money" fails: /),
    `2 errors, and 1 are allowed; most often buy: order: ${MARKUP}.`,
  ])
  expect(failuresOf({ ...outcome, checks: [], settings: { ...outcome.settings, allowErrors: 2 } })).toEqual([])
})

test('below the latencies stands what is not in them', () => {
  const lacking = { ...outcome, counts: { ...outcome.counts, shed: 9, held: 3 } }
  const note = /12 of the 50 orders that were due are in no latency: 9 were shed, .*, 3 held back/
  expect(reportPage(lacking)).toMatch(note)
  expect(outcomeText(lacking)).toMatch(note)
  const silent = { ...outcome, counts: { ...outcome.counts, unasked: 7 } }
  for (const text of [reportPage(silent), outcomeText(silent)])
    expect(text).toMatch(/7 of get_order('|&#39;)s beats were held back/)
  expect(reportPage(outcome) + outcomeText(outcome)).not.toMatch(/in no latency|beats were held back|in no figure/)
})

const none = { timedOut: 0, unsent: 0, missing: 0 }
const latency = (step: Step, ms: number, change: Partial<Latency> = {}): Latency => ({
  ...none,
  step,
  count: 100,
  p50Ms: ms / 4,
  p90Ms: ms / 2,
  p99Ms: ms,
  p999Ms: ms * 2,
  maxMs: ms * 2,
  ...change,
})
const notes = (...latencies: readonly Latency[]): string => notesOf({ counts: outcome.counts, latencies }).join('\n')

test('waits that nobody ended, and what is missing, stand in the table and below it', () => {
  const latencies = [
    latency('invoice (buy)', 900, { timedOut: 5, unsent: 2, missing: 3 }),
    {
      ...none,
      step: 'settled' as const,
      count: 0,
      missing: 10,
      p50Ms: null,
      p90Ms: null,
      p99Ms: null,
      p999Ms: null,
      maxMs: null,
    },
    latency('get_order', 900, { timedOut: 4 }),
  ]
  const lacking = { ...outcome, latencies }
  const sentences = [
    /the least that it would have taken: invoice \(buy\) 5, get_order 4\./,
    /never saw the request, since none of this program.*: invoice \(buy\) 2\./,
    /in no figure, since .*: invoice \(buy\) 3, settled 10\./,
  ]
  expect(outcomeJson(lacking)).toMatchObject({
    latencies: [{ timed_out: 5, unsent: 2, missing: 3, max_ms: 1800 }, { count: 0, missing: 10, p99_ms: null }, { timed_out: 4 }],
    notes: sentences.map((sentence) => expect.stringMatching(sentence) as unknown),
  })
  const [page, text] = [reportPage(lacking).replaceAll('&#39;', "'"), outcomeText(lacking)]
  for (const sentence of sentences)
    expect([page, text]).toEqual([expect.stringMatching(sentence), expect.stringMatching(sentence)])
  expect(page).toMatch(
    /<td>settled<\/td><td class="n">0<\/td>(<td class="n">0<\/td>){2}<td class="n">10<\/td>(<td class="n">-<\/td>){5}/,
  )
  expect(page).not.toMatch(/NaN|undefined|Infinity|null/)
  expect(text).toMatch(/STEP +COUNT +TIMED OUT +UNSENT +MISSING +P50/)
  expect(text).toMatch(/settled +0 +0 +0 +10 +- +-/)
  expect(outcomeText(outcome)).toMatch(/STEP +COUNT +P50/)
})

test('a wait for a connection of this program is said where it is not small against a figure, and not where it is', () => {
  const own = latency('socket wait', 90)
  const sentence = /^Requests waited for one of this program's 256 connections, 180 ms at most \(p99 90 ms\)/
  expect(notes(latency('get_order', 900), own)).toMatch(sentence)
  expect(notes(latency('invoice (buy)', 90_000), latency('page', 500), own)).toMatch(sentence)
  // Few waited, and they waited long.
  expect(notes(latency('get_order', 9000), latency('socket wait', 0.001, { maxMs: 2000 }))).toMatch(
    /2000 ms at most \(p99 0\.001 ms\)/,
  )
  expect(notes(latency('get_order', 1000), own)).toBe('')
  expect(notes(latency('start lag', 1), own)).toBe('')
  expect(notes(latency('get_order', 900))).toBe('')
})

test('programs and people get the same figures', () => {
  expect(outcomeJson(outcome)).toMatchObject({
    achieved_per_second: 4.8,
    statuses: { VALID_CHANNEL_OPENING: 48 },
    settings: { mix: 'buy:100', seed: 9 },
    checks: [{ outcome: 'pass' }, { outcome: 'fail' }],
  })
  const text = outcomeText(outcome)
  expect(text).toMatch(/achieved +4\.80\/s/)
  expect(text).toMatch(/invoice \(buy\) +12 /)
  expect(text).toMatch(/VALID_CHANNEL_OPENING +48/)
})

test('lines stay within their chart, one point is a dot, and nothing is no chart', () => {
  const chart = (points: readonly (readonly [number, number])[], isLog = false): string =>
    lineChart({ title: 'A', series: [{ name: 'a', points }], xLabel: 'x', y: String, isLog })
  const [, drawn = ''] =
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
  for (const pair of drawn.split(' ')) {
    const [x = -1, y = -1] = pair.split(',').map(Number)
    expect(x >= 0 && x <= 560 && y >= 0 && y <= 220).toBe(true)
  }
  expect(chart([[0, 0]])).toContain('<circle')
  expect(chart([])).toBe('')
  expect(barChart('B', [])).toBe('')
})

test('a terminal has one line that is written anew, a log has lines, and no line again and again', () => {
  const written = (columns: number | undefined): string => {
    let text = ''
    const progress = openProgress({ write: (more) => void (text += more), ratePerSecond: 5, columns })
    for (let index = 1; index <= 60; index++) progress.show({ ...second(Math.min(index, 20)), atMs: index * 1000 })
    progress.end()
    return text
  }
  const terminal = written(70)
  expect(terminal.split('\r').every((line) => line.length <= 70 + 3)).toBe(true)
  expect(terminal).not.toContain('\n')
  expect(terminal.endsWith('\r\u001B[K')).toBe(true)
  const log = written(undefined).trimEnd().split('\n')
  expect(log[0]).toBe('5 s | 5.0/s of 5/s | due 25, placed 25, in flight 5 | channel-open 3 valid-channel-opening 5 | no errors')
  expect(log.length).toBeLessThan(8)
})
