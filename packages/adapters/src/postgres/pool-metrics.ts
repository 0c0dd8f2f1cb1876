import { registry } from '@penstock/runtime/metrics.ts'
import { Gauge } from 'prom-client'

/** What a pool of `pg` tells of itself. */
type Counts = { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }

const pools = new Set<{ readonly purpose: string; readonly counts: Counts }>()

new Gauge({
  name: 'penstock_postgres_connections',
  help: 'Connections of this process to PostgreSQL, by what they are for: in use or idle; `waiting` are statements that want one.',
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

/** @returns what takes it out of the metrics */
export function showPool(purpose: string, counts: Counts): () => void {
  const shown = { purpose, counts }
  pools.add(shown)
  return () => void pools.delete(shown)
}
