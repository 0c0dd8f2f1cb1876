// The imports load the modules of all processes, because each module registers its metrics when it is loaded.
import '@penstock/platforms/data-space.ts'
import '@penstock/platforms/cluster.ts'
import '@penstock/adapters/opentelemetry/otlp.ts'
import '@penstock/platforms/process.ts'
import '@penstock/gateway/assembly.ts'
import '@penstock/standalone/assembly.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { collectDefaultMetrics } from 'prom-client'
import type { ExportedSeries } from './queries.ts'

/** A metric of prom-client, with the labels that its types do not declare. */
type DeclaredMetric = { readonly name: string; readonly type: string; readonly labelNames?: readonly string[] }

/** Lists every series that a process can export, with its labels. */
export function listExportedMetrics(): ExportedSeries {
  if (!registry.getSingleMetric('process_cpu_seconds_total')) collectDefaultMetrics({ register: registry })
  const metrics = registry.getMetricsAsArray() as unknown as readonly DeclaredMetric[] // its types do not declare labelNames
  return new Map(metrics.flatMap(listSeries))
}

function listSeries({ name, type, labelNames = [] }: DeclaredMetric): readonly (readonly [string, readonly string[]])[] {
  if (type !== 'histogram') return [[name, labelNames]]
  return [
    [`${name}_bucket`, [...labelNames, 'le']],
    [`${name}_sum`, labelNames],
    [`${name}_count`, labelNames],
  ]
}

/** Metrics of the market in one process. A cluster has its data on servers of their own. */
export const standaloneMetrics: ReadonlySet<string> = new Set(['penstock_data_free_bytes'])

/** Metrics without a value while a market has no hold, no audit, no parked message and no deadline. */
export const optionalMetrics: ReadonlySet<string> = new Set([
  'penstock_audit_divergences',
  'penstock_audit_gap_timestamp_seconds',
  'penstock_audit_ledger_balanced',
  'penstock_audit_timestamp_seconds',
  'penstock_hold_blocks_left_min',
  'penstock_messages_parked_total',
  'penstock_newer_messages_tries_total',
  'penstock_timers_fired_total',
])
