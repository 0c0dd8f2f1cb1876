import { HOUR_MS } from '@penstock/kernel/time.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { AuditReport } from './verify.ts'
import { runDailyAudits, type AuditSummary, withStoredSummary } from './daily.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'

const FIRST_ORDERS = { store_begins_with: 'order-a', heads_begin_with: 'order-a' }
const COUNTS = { heads: 1, first_at: 0, last_at: 0, signed: true, events_after: 0, late_ms: 0 }
/** `unproven`: the reason why the heads do not prove the log; null if they prove it. */
const HEADS = { ...COUNTS, gaps: [], ...FIRST_ORDERS, unproven: null, note: '' }
/** A report without log heads. `first`: the first divergence; null if there is none. */
const BARE = { streams: 1, events: 2, divergences: 0, ledger_balanced: true, first: null, findings: [] }
const WHOLE = { ...BARE, log: HEADS }

/** Creates a market whose clock advances with each sleep, and which stops at the given hour. */
function createMarket(endsAtHours: number) {
  const stop = new AbortController()
  const kept: AuditSummary[] = []
  const audits: number[] = []
  let now = 0
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    async sleep(ms: number) {
      now += ms
      if (now >= endsAtHours * HOUR_MS) stop.abort()
    },
  }
  const last = { read: async () => kept.at(-1), write: async (audited: AuditSummary) => void kept.push(audited) }
  const found: { report: AuditReport } = { report: WHOLE }
  const verify = withStoredSummary(
    async () => {
      audits.push(now / HOUR_MS)
      return found.report
    },
    last,
    clock,
  )
  const loggedErrors: object[] = []
  const log = Object.assign(openLogger('silent'), { error: (about: object) => void loggedErrors.push(about) })
  const run = (everyHours: number, signal = stop.signal) =>
    runDailyAudits({ verify, last, clock, log }, everyHours * HOUR_MS, signal)
  return { run, kept, audits, found, stop, loggedErrors }
}

const gauge = async (name: string): Promise<number | undefined> => (await registry.getSingleMetric(name)?.get())?.values[0]?.value

test('a running market is audited ten minutes after its start and then every 24 hours', async () => {
  const { run, audits } = createMarket(72)
  await run(24)
  assert.deepEqual(
    audits.map((hour) => Math.round(hour)),
    [0, 24, 48],
  )
  assert.ok((audits[0] ?? 0) > 0.1, 'the first audit is delayed')
  assert.equal(await gauge('penstock_audit_every_seconds'), 86_400)
})

test('a restart sets the metrics from the stored summary, and audits only when the interval has passed', async () => {
  const { run, audits, kept } = createMarket(31)
  kept.push({ at: 6 * HOUR_MS, divergences: 3, ledgerBalanced: false })
  const before = new AbortController()
  const showing = run(24, before.signal)
  before.abort()
  await showing
  assert.equal(await gauge('penstock_audit_divergences'), 3)
  assert.equal(await gauge('penstock_audit_ledger_balanced'), 0)
  assert.equal(await gauge('penstock_audit_timestamp_seconds'), 6 * 3600)
  await run(24)
  assert.deepEqual(audits, [30])
})

test('an interval of 0 hours disables the daily audit', async () => {
  const { run, audits } = createMarket(1000)
  await run(0)
  assert.deepEqual(audits, [])
})

test('the findings of an audit are set in the metrics and stored', async () => {
  const { run, kept, found } = createMarket(2)
  found.report = { ...WHOLE, divergences: 2, ledger_balanced: false }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences, ledgerBalanced }) => [divergences, ledgerBalanced]),
    [[2, false]],
  )
  assert.equal(await gauge('penstock_audit_divergences'), 2)
  assert.equal(await gauge('penstock_audit_ledger_balanced'), 0)
})

test.each([
  ['the heads end long before the log', { log: { ...HEADS, unproven: 'late' as const } }, 'late'],
  ['the heads and their key are missing, so that the report has no `log`', {}, 'no heads'],
])('a log whose end is unproven counts as one divergence: %s', async (_, log, heads) => {
  const { run, kept, found, loggedErrors } = createMarket(2)
  found.report = { ...BARE, ...log }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences }) => divergences),
    [1],
  )
  assert.equal(await gauge('penstock_audit_divergences'), 1)
  assert.deepEqual(loggedErrors, [{ divergences: 1, ledger_balanced: true, first: null, heads }])
})

test('a gap is stored and set in its own metric, and does not count as a divergence', async () => {
  const { run, kept, found, loggedErrors } = createMarket(2)
  const gaps = [{ from: '5', position: '9', events: 4, at: 7_200_000 }]
  found.report = { ...BARE, log: { ...HEADS, gaps, unproven: 'gap' } }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences, gapAt }) => [divergences, gapAt]),
    [[0, 7_200_000]],
  )
  assert.equal(await gauge('penstock_audit_gap_timestamp_seconds'), 7200)
  assert.deepEqual(loggedErrors, [])
})
