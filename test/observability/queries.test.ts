import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { dashboards } from '../../tools/dashboards.ts'
import { listMetrics, readAlertRules, RUNBOOKS, addSelection } from '../../tools/dashboards/rules.ts'
import { listExportedMetrics } from './exported-metrics.ts'
import { listQueries, findUnknownMetrics } from './queries.ts'

const exported = listExportedMetrics()

test('every query of a dashboard or a rule uses only series and labels that a process exports', () => {
  const unknown = listQueries().flatMap(({ location, expr }) =>
    findUnknownMetrics(expr, exported).map((what) => `${location}: ${what}`),
  )
  assert.deepEqual(unknown, [])
  assert.ok(listQueries().length > 60, `${listQueries().length} queries`)
})

test('findUnknownMetrics finds unknown metrics, labels and groupings', () => {
  assert.deepEqual(findUnknownMetrics('max(penstock_nothing{a="b"})', exported), ['penstock_nothing'])
  assert.deepEqual(
    findUnknownMetrics('sum by (le, colour) (rate(penstock_http_requests_total{order="1",status=~"5.."}[5m]))', exported),
    ['penstock_http_requests_total{order}', 'by (le)', 'by (colour)'],
  )
})

/** Metrics that are useful although no dashboard or rule uses them. */
const NOT_SHOWN: readonly string[] = []

test('a dashboard or a rule uses every metric of Penstock', () => {
  const used = new Set(listQueries().flatMap(({ expr }) => listMetrics(expr).map(({ name }) => name)))
  const base = (name: string): string => name.replace(/_(bucket|sum|count)$/, '')
  const usedBases = new Set([...used].map(base))
  const unused = [...exported.keys()].filter((name) => name.startsWith('penstock_') && !usedBases.has(base(name)))
  assert.deepEqual([...new Set(unused.map(base))].toSorted(), NOT_SHOWN.toSorted())
})

test('metric names match the naming pattern, and only labels with few values are used', () => {
  for (const [name, labels] of exported) {
    if (!name.startsWith('penstock_')) continue
    assert.match(name, /^penstock_[a-z0-9_]+$/)
    for (const label of labels) assert.ok(LABELS.has(label), `${name} has the label ${label}: is it bounded?`)
  }
})

/** Labels whose number of values does not grow with callers or orders. `service` is missing, because Kubernetes uses it. */
const LABELS: ReadonlySet<string> = new Set(
  'at_most category code component consumer direction effect group le method outcome owner purpose route sender state status topic type'.split(
    ' ',
  ),
)

test('every rule has a waiting time, a severity, texts, and its own section of the guide', () => {
  const guide = readFileSync(new URL('../../docs/guides/alerts.md', import.meta.url), 'utf8')
  for (const { name, pendingFor, severity, summary, description, runbook } of readAlertRules()) {
    assert.match(pendingFor, /^\d+[mh]$/, name)
    assert.match(severity, /^(critical|warning|info)$/, name)
    assert.ok(summary.length > 20, name)
    assert.match(description, /^[A-Z'].{20,}\.'?$/, name)
    assert.notEqual(description, summary)
    assert.equal(runbook, `${RUNBOOKS}#${name.toLowerCase()}`)
    assert.match(guide, new RegExp(`^## ${name}$`, 'm'), `${name} is not in the guide`)
  }
  const described = [...guide.matchAll(/^## (Penstock\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    described,
    readAlertRules().map(({ name }) => name),
  )
})

test('no alert aggregates over several releases', () => {
  for (const { name, expr } of readAlertRules()) {
    const merged = [...expr.matchAll(/\b(?:sum|min|max|count|avg) (?:by \(([^)]*)\) )?\(/g)].filter(
      ([, by = '']) => !by.startsWith('namespace, release'),
    )
    assert.deepEqual(merged, [], name)
    assert.doesNotMatch(expr, /\b(?:sum|min|max|count|avg)\(/, name)
    // The result of `absent` has no release label, so `absent` is allowed only if no target exists at all.
    assert.doesNotMatch(expr, /\babsent\([^)]*\)(?! unless on \(\) up)/, name)
  }
})

test('the results of all queries of a panel have the unit of the panel', () => {
  for (const { panels } of dashboards)
    for (const { title, unit, queries: panelQueries } of panels)
      assert.deepEqual([...new Set(Object.values(panelQueries).map(unitOf))], [unit], title)
})

test('each limit of a panel equals the limit of an alert on the same metric', () => {
  const limited = dashboards.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries: panelQueries, limits }) => (limits ? [{ title, own: panelQueries, limits }] : [])),
  )
  assert.ok(limited.length > 15, `${limited.length} panels`)
  for (const { title, own: panelQueries, limits } of limited) {
    const { when, bad, warn } = limits
    const shown = new Set(Object.values(panelQueries).flatMap((expr) => listMetrics(expr).map(({ name }) => name)))
    const bounds = readAlertRules().flatMap(({ expr }) =>
      listMetrics(expr).some(({ name }) => shown.has(name)) ? boundsIn(expr) : [],
    )
    assert.ok(bounds.includes(`${when} ${bad}`), `${title}: ${when} ${bad} is none of ${bounds.join(', ')}`)
    if (warn !== undefined) assert.ok(when === 'above' ? warn < bad : warn > bad, title)
  }
})

/** Lists the limits of an alert as in a Grafana panel, which is red from a number on or below a number. `> 0` becomes 1. */
function boundsIn(expr: string): readonly string[] {
  return [...expr.matchAll(/(<=|>=|==|<|>) (\d+(?:\.\d+)?)/g)].map(([, sign, number = '']) => {
    if (sign === '>' || sign === '>=') return `above ${number === '0' ? 1 : number}`
    return `below ${sign === '<' ? number : Number(number) + 1}`
  })
}

/** Derives the unit of a query's result from the names of its metrics. */
function unitOf(expr: string): string {
  if (expr.startsWith('rate(process_cpu_seconds_total')) return 'percentunit'
  if (expr.includes('http_requests_total')) return 'reqps'
  if (/_bytes\b/.test(expr)) return 'bytes'
  if (expr.startsWith('histogram_quantile(') || (/_seconds\b/.test(expr) && !expr.includes('rate('))) return 's'
  return expr.includes('rate(') ? 'ops' : 'short'
}

test("each metric of a query gets the dashboard's label selector exactly once", () => {
  assert.equal(
    addSelection('sum by (le) (rate(a_total{b="c"}[$__rate_interval])) / max(d)', 'x=~"$x"'),
    'sum by (le) (rate(a_total{b="c",x=~"$x"}[$__rate_interval])) / max(d{x=~"$x"})',
  )
  const boards = dashboards.map(({ uid }) =>
    readFileSync(new URL(`../../deploy/dashboards/${uid}.json`, import.meta.url), 'utf8'),
  )
  for (const board of boards)
    for (const [, expr = ''] of board.matchAll(/"expr": "(.*)",$/gm)) {
      const metrics = listMetrics(JSON.parse(`"${expr}"`) as string)
      assert.ok(metrics.length > 0, expr)
      for (const { labels } of metrics)
        for (const label of ['namespace', 'release', 'job', 'instance']) assert.ok(labels.includes(label), expr)
    }
})
