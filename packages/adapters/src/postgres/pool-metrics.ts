import { registry } from '@penstock/runtime/observability/metrics.ts'
import { Gauge } from 'prom-client'

/** The counters of a `pg` pool. */
type PoolCounts = { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }

const pools = new Set<{ readonly purpose: string; readonly counts: PoolCounts }>()

new Gauge({
  name: 'penstock_postgres_connections',
  help: 'Connections of this process to PostgreSQL, by purpose and state. `waiting` counts statements without a connection.',
  labelNames: ['purpose', 'state'] as const,
  registers: [registry],
  collect() {
    this.reset()
    for (const { purpose, counts } of pools) {
      this.inc({ purpose, state: 'used' }, counts.totalCount - counts.idleCount)
      this.inc({ purpose, state: 'idle' }, counts.idleCount)
      this.inc({ purpose, state: 'waiting' }, counts.waitingCount)
    }
  },
})

/** @returns a function that removes the pool from the metrics */
export function registerPoolMetrics(purpose: string, counts: PoolCounts): () => void {
  const entry = { purpose, counts }
  pools.add(entry)
  return () => void pools.delete(entry)
}
