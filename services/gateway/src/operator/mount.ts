import type { Bus } from '@penstock/ports/bus.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import type { Mount } from '../http.ts'
import type { Gateway } from '../ports.ts'
import { orderReport } from '../read/order-report.ts'
import { orderById } from '../read/orders.ts'
import { openPayouts } from '../read/payouts.ts'
import type { OperatorAudit } from './audit-routes.ts'
import { operatorRoutes } from './routes.ts'
import type { RebuildViews } from './views-route.ts'
import type { Simulation } from './simulation.ts'

export type Operators = {
  readonly token: string
  readonly bus: Bus
  readonly audit: OperatorAudit
  readonly rebuildViews: RebuildViews
  /** Null on a real network. */
  readonly simulation: Simulation | null
}

/** The operators' routes as a part of the public door. */
export const operatorMount =
  ({ token, bus, audit, simulation, rebuildViews }: Operators): Mount =>
  (app, door) => {
    app.use(
      '/operator',
      operatorRoutes({
        token,
        log: door.log,
        clock: door.clock,
        bus,
        orderReport: (id) => orderReport(door.views, id),
        order: (id) => orderById(door.views, id),
        openPayouts: (page) => openPayouts(door.views, page),
        audit,
        rebuildViews,
        gauges: door.gauges,
        command: (wanted) => carryOut(door, wanted),
        simulation,
      }),
    )
  }

const ANSWER_WITHIN_MS = 10_000

/** Sends an operator's command. @throws the refusal, or that nobody answered */
export async function carryOut(gateway: Gateway, wanted: Ask): Promise<void> {
  const answer = await gateway.commands.ask(wanted, { until: gateway.clock.monotonicMs() + ANSWER_WITHIN_MS })
  if (answer.outcome === 'refused') throw new Error(answer.message)
  if (answer.outcome === 'unanswered') throw new Error('Nobody answered in time; look whether it was done before you try again.')
}
