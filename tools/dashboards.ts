import { clusterDashboard } from './dashboards/cluster.ts'
import { marketDashboard } from './dashboards/market.ts'
import { moneyDashboard } from './dashboards/money.ts'
import type { Dashboard, PanelLimits, DashboardPanel } from './dashboards/panel.ts'
import { listMetrics, RUNBOOKS, readAlertRules, addSelection } from './dashboards/rules.ts'
import { paymentsDashboard } from './dashboards/payments.ts'
import { servicesDashboard } from './dashboards/services.ts'
import type { GeneratedFiles } from './generated-files.ts'

/** Grafana's dashboards, from the descriptions in tools/dashboards. */
export const dashboards: readonly Dashboard[] = [
  marketDashboard,
  moneyDashboard,
  paymentsDashboard,
  servicesDashboard,
  clusterDashboard,
]

const [COLUMNS, WIDTH, HEIGHT] = [3, 8, 8]
const JOB_MATCHER = 'job=~".*penstock.*"'
const datasource = { type: 'prometheus', uid: '${datasource}' }

/** Labels by which a user can restrict a dashboard to one release, or to some of its processes. */
const SELECTORS = ['namespace', 'release', 'job', 'instance'] as const
const matchers = SELECTORS.map((label) => `${label}=~"$${label}"`)

const alerts = readAlertRules().map(({ name, expr }) => ({
  name,
  metrics: new Set(listMetrics(expr).map((metric) => metric.name)),
}))

function toGrafanaJson({ uid, title, panels }: Dashboard): string {
  const board = {
    uid: `penstock-${uid}`,
    title: `Penstock: ${title}`,
    tags: ['penstock'],
    timezone: 'utc',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    links: [
      { title: 'Dashboards', type: 'dashboards', tags: ['penstock'], asDropdown: true, includeVars: true, keepTime: true },
      { title: 'Runbooks', type: 'link', url: '${runbooks}', targetBlank: true },
    ],
    templating: { list: templateVariables },
    panels: panels.map(toPanelJson),
  }
  return `${JSON.stringify(board, null, 2)}\n`
}

const templateVariables = [
  { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
  ...SELECTORS.map((label, index) => ({
    name: label,
    type: 'query',
    datasource,
    // Each variable offers only the values that match the selection of the previous variables.
    query: { query: `label_values(up{${[JOB_MATCHER, ...matchers.slice(0, index)].join(',')}}, ${label})`, refId: label },
    refresh: 2,
    includeAll: true,
    multi: true,
    // `.*` also matches series without this label.
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  })),
  {
    name: 'runbooks',
    label: 'Address of the runbooks',
    type: 'textbox',
    query: RUNBOOKS,
    current: { text: RUNBOOKS, value: RUNBOOKS },
  },
]

const toPanelJson = ({ title, about, unit, kind = 'timeseries', limits, queries }: DashboardPanel, index: number) => ({
  id: index + 1,
  title,
  description: about,
  type: kind,
  datasource,
  gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
  links: listAlerts(queries).map((name) => ({ title: name, url: `\${runbooks}#${name.toLowerCase()}`, targetBlank: true })),
  fieldConfig: {
    defaults: {
      unit,
      min: 0,
      ...(limits && { thresholds: { mode: 'absolute', steps: toThresholdSteps(limits) } }),
      // A panel with a history shows its limits as dashed lines.
      ...(limits && kind === 'timeseries' && { custom: { thresholdsStyle: { mode: 'dashed' } } }),
    },
    overrides: [],
  },
  targets: Object.entries(queries).map(([legendFormat, expr], target) => ({
    refId: String.fromCodePoint('A'.codePointAt(0)! + target),
    expr: addSelection(expr, matchers.join(',')),
    legendFormat,
  })),
})

/** Lists the alerts that use one of a panel's metrics. */
function listAlerts(queries: DashboardPanel['queries']): readonly string[] {
  const metricNames = Object.values(queries).flatMap((expr) => listMetrics(expr).map(({ name }) => name))
  return alerts
    .filter(({ metrics }) => metricNames.some((name) => !SHARED_METRICS.has(name) && metrics.has(name)))
    .map(({ name }) => name)
}

/** Metrics that many panels use. An alert on such a metric is about one fact type, so these panels do not link to the alert. */
const SHARED_METRICS: ReadonlySet<string> = new Set(['penstock_facts_appended_total'])

/** Orders the steps by value, as Grafana requires. The value null of the first step means below all other steps. */
const toThresholdSteps = ({ when, warn, bad }: PanelLimits) =>
  when === 'above'
    ? [
        { color: 'green', value: null },
        ...(warn === undefined ? [] : [{ color: 'orange', value: warn }]),
        { color: 'red', value: bad },
      ]
    : [
        { color: 'red', value: null },
        ...(warn === undefined ? [] : [{ color: 'orange', value: bad }]),
        { color: 'green', value: warn ?? bad },
      ]

export const renderDashboards = (): GeneratedFiles =>
  new Map(dashboards.map((dashboard) => [`deploy/dashboards/${dashboard.uid}.json`, toGrafanaJson(dashboard)]))
