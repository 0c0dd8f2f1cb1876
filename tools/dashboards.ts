import { readFileSync, writeFileSync } from 'node:fs'
import { cluster } from './dashboards/cluster.ts'
import { market } from './dashboards/market.ts'
import { money } from './dashboards/money.ts'
import type { Dashboard, Panel } from './dashboards/panel.ts'
import { services } from './dashboards/services.ts'

/** Grafana's dashboards in deploy/dashboards, from the short descriptions in tools/dashboards. */
export const dashboards: readonly Dashboard[] = [market, money, services, cluster]

const [COLUMNS, WIDTH, HEIGHT] = [3, 8, 8]

function json({ uid, title, panels }: Dashboard): string {
  const board = {
    uid: `penstock-${uid}`,
    title: `Penstock: ${title}`,
    tags: ['penstock'],
    timezone: 'utc',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels: panels.map(panelJson),
  }
  return `${JSON.stringify(board, null, 2)}\n`
}

const panelJson = ({ title, about, unit, kind = 'timeseries', queries }: Panel, index: number) => ({
  id: index + 1,
  title,
  description: about,
  type: kind,
  datasource: { type: 'prometheus', uid: '${datasource}' },
  gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: Object.entries(queries).map(([legendFormat, expr], target) => ({
    refId: String.fromCodePoint('A'.codePointAt(0)! + target),
    expr,
    legendFormat,
  })),
})

const fileOf = ({ uid }: Dashboard): URL => new URL(`../deploy/dashboards/${uid}.json`, import.meta.url)

/** @returns whether the files in deploy/dashboards are what the descriptions say */
export const dashboardsAreCurrent = (): boolean =>
  dashboards.every((dashboard) => readFileSync(fileOf(dashboard), 'utf8') === json(dashboard))

if (import.meta.main) for (const dashboard of dashboards) writeFileSync(fileOf(dashboard), json(dashboard))
