import type { Bus } from '@penstock/ports/bus.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import type { Mount } from '../http/app.ts'
import type { Gateway } from '../ports.ts'
import { readOrderReport } from './order-report.ts'
import { findStoredOrder } from '../market/read/orders.ts'
import { listOpenPayouts } from './open-payouts.ts'
import { hasEndpoint } from '../payments/webhooks/endpoint-read.ts'
import { listTransactionReports, readTransactionReport } from './payment-report.ts'
import type { OperatorAudit } from './audit-routes.ts'
import { createOperatorRouter } from './routes.ts'
import type { RebuildViews } from './views-route.ts'
import type { SimulatedNetworkControl } from './simulation.ts'

export type OperatorMountOptions = {
  readonly token: string
  readonly bus: Bus
  readonly audit: OperatorAudit
  readonly rebuildViews: RebuildViews
  /** Null on a real network. */
  readonly simulation: SimulatedNetworkControl | null
}

/** Mounts the operators' routes on the public app. */
export const createOperatorMount =
  ({ token, bus, audit, simulation, rebuildViews }: OperatorMountOptions): Mount =>
  (app, gateway) => {
    app.use(
      '/operator',
      createOperatorRouter({
        token,
        log: gateway.log,
        clock: gateway.clock,
        bus,
        readOrderReport: (id) => readOrderReport(gateway.views, id),
        findOrder: (id) => findStoredOrder(gateway.views, id),
        listOpenPayouts: (page) => listOpenPayouts(gateway.views, page),
        payments: {
          listTransactions: (filter) => listTransactionReports(gateway.views, filter),
          readTransaction: (id) => readTransactionReport(gateway.views, id),
        },
        webhooks: {
          log: gateway.deliveryLog,
          hasEndpoint: (environmentId, id) => hasEndpoint(gateway.views, environmentId, id),
          createId: () => gateway.ids.uuid(),
        },
        audit,
        rebuildViews,
        gauges: gateway.gauges,
        sendCommand: (command) => executeOperatorCommand(gateway, command),
        simulation,
      }),
    )
  }

const ANSWER_TIMEOUT_MS = 10_000

/** Sends an operator's command. @throws an error if the command is refused, or if no answer arrives in time */
export async function executeOperatorCommand(gateway: Gateway, command: AddressedCommand): Promise<void> {
  const answer = await gateway.commands.sendAndWait(command, { until: gateway.clock.monotonicMs() + ANSWER_TIMEOUT_MS })
  if (answer.outcome === 'refused') throw new Error(answer.message)
  if (answer.outcome === 'unanswered') throw new Error("No answer arrived in time. Check the command's effect before you retry.")
}
