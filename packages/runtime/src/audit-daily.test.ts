import { HOUR_MS } from '@penstock/kernel/time.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { AuditReport } from './audit.ts'
import { auditDaily, type Audited, keptAudit } from './audit-daily.ts'
import { openLog } from './log.ts'
import { registry } from './metrics.ts'

const MARKET = { store_begins_with: 'order-a', heads_begin_with: 'order-a' }
const COUNTS = { heads: 1, first_at: 0, last_at: 0, signed: true, events_after: 0, late_ms: 0 }
const HEADS = { ...COUNTS, gaps: [], ...MARKET, unproven: null, note: '' }
const BARE = { streams: 1, events: 2, divergences: 0, ledger_balanced: true, first: null, findings: [] }
const WHOLE = { ...BARE, log: HEADS }

/** A market whose clock moves when somebody sleeps, and that ends at an hour. */
function world(endsAtHours: number) {
  const over = new AbortController()
  const kept: Audited[] = []
  const audits: number[] = []
  let now = 0
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    async sleep(ms: number) {
      now += ms
      if (now >= endsAtHours * HOUR_MS) over.abort()
    },
  }
  const last = { read: async () => kept.at(-1), write: async (audited: Audited) => void kept.push(audited) }
  const found: { report: AuditReport } = { report: WHOLE }
  const verify = keptAudit(
    async () => {
      audits.push(now / HOUR_MS)
      return found.report
    },
    last,
    clock,
  )
  const said: object[] = []
  const log = Object.assign(openLog('silent'), { error: (about: object) => void said.push(about) })
  const run = (everyHours: number, signal = over.signal) => auditDaily({ verify, last, clock, log }, everyHours * HOUR_MS, signal)
  return { run, kept, audits, found, over, said }
}

const shown = async (name: string): Promise<number | undefined> => (await registry.getSingleMetric(name)?.get())?.values[0]?.value

test('a market that runs is audited a little after its start and then every day', async () => {
  const { run, audits } = world(72)
  await run(24)
  assert.deepEqual(
    audits.map((hour) => Math.round(hour)),
    [0, 24, 48],
  )
  assert.ok((audits[0] ?? 0) > 0.1, 'not while it starts')
  assert.equal(await shown('penstock_audit_every_seconds'), 86_400)
})

test('a start does not audit again what was audited today, and shows what was found then', async () => {
  const { run, audits, kept } = world(31)
  kept.push({ at: 6 * HOUR_MS, divergences: 3, ledgerBalanced: false })
  const before = new AbortController()
  const showing = run(24, before.signal)
  before.abort()
  await showing
  assert.equal(await shown('penstock_audit_divergences'), 3)
  assert.equal(await shown('penstock_audit_ledger_balanced'), 0)
  assert.equal(await shown('penstock_audit_timestamp_seconds'), 6 * 3600)
  await run(24)
  assert.deepEqual(audits, [30])
})

test('who wants none gets none', async () => {
  const { run, audits } = world(1000)
  await run(0)
  assert.deepEqual(audits, [])
})

test('what an audit finds is shown, and kept', async () => {
  const { run, kept, found } = world(2)
  found.report = { ...WHOLE, divergences: 2, ledger_balanced: false }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences, ledgerBalanced }) => [divergences, ledgerBalanced]),
    [[2, false]],
  )
  assert.equal(await shown('penstock_audit_divergences'), 2)
  assert.equal(await shown('penstock_audit_ledger_balanced'), 0)
})

test.each([
  ['heads that end long before the log', { log: { ...HEADS, unproven: 'late' as const } }, 'late'],
  ['heads and key that are gone together', {}, 'no heads'],
])('a log whose end nothing proves is a fault by itself: %s', async (_, log, heads) => {
  const { run, kept, found, said } = world(2)
  found.report = { ...BARE, ...log }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences }) => divergences),
    [1],
  )
  assert.equal(await shown('penstock_audit_divergences'), 1)
  assert.deepEqual(said, [{ divergences: 1, ledger_balanced: true, first: null, heads }])
})

test('a gap is kept and shown by itself, and counts as no divergence of every day', async () => {
  const { run, kept, found, said } = world(2)
  const gaps = [{ from: '5', position: '9', events: 4, at: 7_200_000 }]
  found.report = { ...BARE, log: { ...HEADS, gaps, unproven: 'gap' } }
  await run(24)
  assert.deepEqual(
    kept.map(({ divergences, gapAt }) => [divergences, gapAt]),
    [[0, 7_200_000]],
  )
  assert.equal(await shown('penstock_audit_gap_timestamp_seconds'), 7200)
  assert.deepEqual(said, [])
})
