import { createAdaptiveLimit, type AdmissionControl } from '@penstock/runtime/commands/adaptive-limit.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { Counter, Gauge } from 'prom-client'

const createGauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] })
const inFlight = createGauge('penstock_purchases_under_way', 'Purchases at this gateway that wait for their order.')
const limit = createGauge('penstock_purchases_limit', 'Current limit of the purchases that may wait at this gateway at once.')
const refusals = new Counter({
  name: 'penstock_purchases_busy_total',
  help: 'Purchases that this gateway refused because the market was busy and could not answer them in time.',
  registers: [registry],
})

/** Creates the adaptive limit of purchases, with its metrics. @param answerMs time within which a purchase is answered */
export const createPurchaseAdmission = (clock: Pick<Clock, 'monotonicMs'>, answerMs: number): AdmissionControl =>
  createAdaptiveLimit(clock, answerMs, {
    onInFlight: (count) => inFlight.set(count),
    onLimit: (now) => limit.set(now),
    onRefused: () => refusals.inc(),
  })
