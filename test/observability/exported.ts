// What the processes of a cluster, and the one for everything, are made of: each module adds its metrics when it is loaded.
import '@penstock/platforms/cluster.ts'
import '@penstock/platforms/otlp.ts'
import '@penstock/platforms/process.ts'
import '@penstock/gateway/assembly.ts'
import '@penstock/standalone/assembly.ts'
import { registry } from '@penstock/runtime/metrics.ts'
import { collectDefaultMetrics } from 'prom-client'
import type { Exported } from './queries.ts'

/** The part of a metric of prom-client that it does not declare. */
type Declared = { readonly name: string; readonly type: string; readonly labelNames?: readonly string[] }

/** Every series that a process can export, with its labels. */
export function exportedMetrics(): Exported {
  if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry })
  const metrics = registry.getMetricsAsArray() as unknown as readonly Declared[] // labelNames is there, and declared nowhere
  return new Map(metrics.flatMap(seriesOf))
}

function seriesOf({ name, type, labelNames = [] }: Declared): readonly (readonly [string, readonly string[]])[] {
  if (type !== 'histogram') return [[name, labelNames]]
  return [
    [`${name}_bucket`, [...labelNames, 'le']],
    [`${name}_sum`, labelNames],
    [`${name}_count`, labelNames],
  ]
}

/** Of a market in which nothing is held, audited or parked, and nothing waits for a deadline. */
export const notAlways: ReadonlySet<string> = new Set([
  'penstock_audit_divergences',
  'penstock_audit_gap_timestamp_seconds',
  'penstock_audit_ledger_balanced',
  'penstock_audit_timestamp_seconds',
  'penstock_hold_blocks_left_min',
  'penstock_messages_parked_total',
  'penstock_newer_messages_tries_total',
  'penstock_timers_fired_total',
])
