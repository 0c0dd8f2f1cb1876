import type { Deliveries } from '@penstock/ports/deliveries.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { createSampledGauge, type GaugeReader } from '@penstock/runtime/observability/gauges.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { Counter } from 'prom-client'
import type { Verdict } from './outcome.ts'

const attempts = new Counter({
  name: 'penstock_webhook_attempts_total',
  help: 'Attempts to deliver a webhook, by outcome: `delivered`, `repeated` if another attempt may follow, `refused`, or `postponed` if the service could not make the request.',
  labelNames: ['outcome'] as const,
  registers: [registry],
})
for (const outcome of ['delivered', 'repeated', 'refused', 'postponed']) attempts.inc({ outcome }, 0)

const deactivations = new Counter({
  name: 'penstock_webhook_endpoints_deactivated_total',
  help: 'Webhook endpoints that the service switched off, by reason: the endpoint answered 410, or it failed for five days.',
  labelNames: ['code'] as const,
  registers: [registry],
})
for (const reason of ['GONE', 'FAILING']) deactivations.inc({ code: reason }, 0)

const due = createSampledGauge('penstock_webhook_deliveries_due', 'Webhook deliveries that are due at active endpoints.')
const inProgress = createSampledGauge('penstock_webhook_attempts_in_progress', 'Webhook attempts in progress.')
const oldestDue = createSampledGauge(
  'penstock_webhook_delivery_due_oldest_seconds',
  'Time for which a webhook delivery at an active endpoint has been due, at most; 0 if none is due.',
)

export const countAttempt = (verdict: Verdict | 'POSTPONED'): void => attempts.inc({ outcome: toLabel(verdict) })

function toLabel(verdict: Verdict | 'POSTPONED'): string {
  if (verdict === 'POSTPONED') return 'postponed'
  if (verdict.status === 'SUCCESS') return 'delivered'
  return verdict.isRepeated ? 'repeated' : 'refused'
}

export const countDeactivation = (reason: 'GONE' | 'FAILING'): void => deactivations.inc({ code: reason })

/** Reads the gauges of the queue, which all replicas share. */
export const createWebhookGaugeReader =
  ({ deliveries, clock }: { readonly deliveries: Deliveries; readonly clock: Clock }): GaugeReader =>
  async () => {
    const now = clock.now()
    const counts = await deliveries.count(now)
    const waitedMs = counts.oldestDueAt === null ? 0 : Math.max(0, now - counts.oldestDueAt)
    return [
      { gauge: due, value: counts.due },
      { gauge: inProgress, value: counts.inProgress },
      { gauge: oldestDue, value: waitedMs / 1000 },
    ]
  }
