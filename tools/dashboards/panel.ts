export type Panel = {
  readonly title: string
  /** What a reader should make of it. */
  readonly about: string
  /** One of Grafana's units. */
  readonly unit: 'short' | 's' | 'ops' | 'percentunit' | 'bytes' | 'reqps'
  readonly kind?: 'timeseries' | 'stat'
  /** PromQL by legend; `{{label}}` stands for a label's value. */
  readonly queries: Readonly<Record<string, string>>
}

export type Dashboard = { readonly uid: string; readonly title: string; readonly panels: readonly Panel[] }

/** Facts of one type, by the hour. */
export const perHour = (category: string, type: string): string =>
  `sum(increase(penstock_facts_appended_total{category="${category}",type="${type}"}[1h]))`

/** A quantile of a histogram over all processes. */
export const quantile = (part: number, histogram: string, by: string): string =>
  `histogram_quantile(${part}, sum by (le, ${by}) (rate(${histogram}_bucket[5m])))`
