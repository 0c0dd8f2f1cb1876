import { orderStatuses, isOpenStatus } from '@penstock/contracts/order/lifecycle.ts'
import { type GaugeReader, createSampledGauge } from '@penstock/runtime/observability/gauges.ts'
import type { Gateway } from '../../ports.ts'
import { withMarketTables } from '../views/tables.ts'

const ordersOpen = createSampledGauge(
  'penstock_orders_open',
  "Orders whose buyer's money can still be taken or locked, by status.",
  ['status'],
)
const sellersLive = createSampledGauge('penstock_sellers_live', 'Live sellers, whose agents have recently attested their funds.')

/** Samples the gauges of the market from its read models. The index contains only open orders, so counting them is cheap. */
export const createMarketGaugeReader =
  ({ views }: Pick<Gateway, 'views'>): GaugeReader =>
  async () => {
    const db = withMarketTables(views)
    const orders = await db
      .selectFrom('gateway_orders_v2')
      .select(({ fn }) => ['status', fn.countAll().as('count')])
      .where('open', '=', 1)
      .groupBy('status')
      .execute()
    const live = await db
      .selectFrom('gateway_sellers_v2')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('live', '=', 1)
      .executeTakeFirstOrThrow()
    return [
      ...orderStatuses.filter(isOpenStatus).map((status) => {
        const count = orders.find((row) => row.status === status)?.count ?? 0
        return { gauge: ordersOpen, labels: { status }, value: Number(count) }
      }),
      { gauge: sellersLive, value: Number(live.count) },
    ]
  }
