import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { dashboardsAreCurrent } from '../../tools/dashboards.ts'
import { exportedMetrics } from './exported.ts'
import { metricsIn, queries, rules, unknownIn } from './queries.ts'

const exported = exportedMetrics()

test('every query of a dashboard or a rule asks for series and labels that a process exports', () => {
  const unknown = queries().flatMap(({ where, expr }) => unknownIn(expr, exported).map((what) => `${where}: ${what}`))
  assert.deepEqual(unknown, [])
  assert.ok(queries().length > 60, `${queries().length} queries`)
})

test('an unknown metric, an unknown label and an unknown grouping are found', () => {
  assert.deepEqual(unknownIn('max(penstock_nothing{a="b"})', exported), ['penstock_nothing'])
  assert.deepEqual(unknownIn('sum by (le, colour) (rate(penstock_http_requests_total{order="1",status=~"5.."}[5m]))', exported), [
    'penstock_http_requests_total{order}',
    'by (le)',
    'by (colour)',
  ])
})

/** Exported, shown nowhere, and wanted all the same. */
const UNSHOWN: readonly string[] = []

test('every metric of ours is shown or watched somewhere', () => {
  const used = new Set(queries().flatMap(({ expr }) => metricsIn(expr).map(({ name }) => name)))
  const base = (name: string): string => name.replace(/_(bucket|sum|count)$/, '')
  const usedBases = new Set([...used].map(base))
  const unused = [...exported.keys()].filter((name) => name.startsWith('penstock_') && !usedBases.has(base(name)))
  assert.deepEqual([...new Set(unused.map(base))].toSorted(), UNSHOWN.toSorted())
})

test('names say their unit, and counters their kind; no label can hold an id', () => {
  for (const [name, labels] of exported) {
    if (!name.startsWith('penstock_')) continue
    assert.match(name, /^penstock_[a-z0-9_]+$/)
    for (const label of labels) assert.ok(LABELS.has(label), `${name} has the label ${label}: is it bounded?`)
  }
})

/** Each has few values, whatever callers and orders do. `service` is Kubernetes' own. */
const LABELS: ReadonlySet<string> = new Set(
  'category code component consumer effect group le method outcome owner purpose route state status topic type'.split(' '),
)

test('every rule waits, tells how bad it is and what it means, and has its part of the guide', () => {
  const guide = readFileSync(new URL('../../docs/guides/alerts.md', import.meta.url), 'utf8')
  for (const { name, lasts, severity, summary, runbook } of rules()) {
    assert.match(lasts, /^\d+[mh]$/, name)
    assert.match(severity, /^(critical|warning|info)$/, name)
    assert.ok(summary.length > 20, name)
    assert.equal(runbook, `docs/guides/alerts.md#${name.toLowerCase()}`)
    assert.match(guide, new RegExp(`^## ${name}$`, 'm'), `${name} is not in the guide`)
  }
  const described = [...guide.matchAll(/^## (Penstock\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    described,
    rules().map(({ name }) => name),
  )
})

test('the dashboards are what their descriptions say', () => {
  assert.ok(dashboardsAreCurrent(), 'run node tools/dashboards.ts')
})
