export type DashboardPanel = {
  readonly title: string
  /** The panel's description, which explains how to read it. */
  readonly about: string
  /** Grafana's unit for all queries of the panel. */
  readonly unit: 'short' | 's' | 'ops' | 'percentunit' | 'bytes' | 'reqps'
  /** A `stat` shows only the current value. */
  readonly kind?: 'timeseries' | 'stat'
  readonly limits?: PanelLimits
  /**
   * PromQL queries by legend. In a legend, `{{label}}` is replaced by the label's value. The generator restricts every metric to
   * the values of the dashboard's variables.
   */
  readonly queries: Readonly<Record<string, string>>
}

/** Limits of a figure, with the values of the alerts: beyond `warn` the panel is orange, and beyond `bad` it is red. */
export type PanelLimits = { readonly when: 'above' | 'below'; readonly warn?: number; readonly bad: number }

export type Dashboard = { readonly uid: string; readonly title: string; readonly panels: readonly DashboardPanel[] }

/** Counts facts of one type per hour. */
export const queryFactsPerHour = (category: string, type: string): string =>
  `sum(increase(penstock_facts_appended_total{category="${category}",type="${type}"}[1h]))`

/** Queries a quantile of a histogram over all processes. */
export const queryQuantile = (part: number, histogram: string, by: string): string =>
  `histogram_quantile(${part}, sum by (le, ${by}) (rate(${histogram}_bucket[$__rate_interval])))`
