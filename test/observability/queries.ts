import { dashboards } from '../../tools/dashboards.ts'
import { listMetrics, readAlertRules } from '../../tools/dashboards/rules.ts'

export type PrometheusQuery = { readonly location: string; readonly expr: string }

export const listQueries = (): readonly PrometheusQuery[] => [
  ...dashboards.flatMap(({ title, panels }) =>
    panels.flatMap((panel) => Object.values(panel.queries).map((expr) => ({ location: `${title}: ${panel.title}`, expr }))),
  ),
  ...readAlertRules().map(({ name, expr }) => ({ location: name, expr })),
]

export type ExportedSeries = ReadonlyMap<string, readonly string[]>

const FROM_PROMETHEUS: ExportedSeries = new Map([['up', []]])
/** Labels that Prometheus adds to every series, as its scrape configuration says. */
const TARGET_LABELS = ['job', 'instance', 'namespace', 'release']

/** @returns the metrics, labels and groupings of a query that no process exports */
export function findUnknownMetrics(expr: string, exported: ExportedSeries): readonly string[] {
  const referenced = listMetrics(expr)
  const labelsOf = (name: string) => exported.get(name) ?? FROM_PROMETHEUS.get(name)
  const unknown = referenced.flatMap(({ name, labels }) => {
    const knownLabels = labelsOf(name)
    if (!knownLabels) return [name]
    return labels.filter((label) => ![...knownLabels, ...TARGET_LABELS].includes(label)).map((label) => `${name}{${label}}`)
  })
  const allLabels = new Set([...TARGET_LABELS, ...referenced.flatMap(({ name }) => labelsOf(name) ?? [])])
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim()))
  return [...unknown, ...grouped.filter((label) => !allLabels.has(label)).map((label) => `by (${label})`)]
}
