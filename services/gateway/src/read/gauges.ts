import { orderStatuses } from '@penstock/kernel/order-status.ts'
import { type Look, lookedUp } from '@penstock/runtime/gauges.ts'
import type { Gateway } from '../ports.ts'
import { isOpen } from '../views/order-status.ts'
import { tablesOf } from '../views/tables.ts'

const ordersOpen = lookedUp('penstock_orders_open', "Orders whose buyer's money can still be taken or locked, by status.", [
  'status',
])
const sellersLive = lookedUp('penstock_sellers_live', 'Sellers whose agent was heard of lately.')

/** What operators watch of the market as its read models show it. An index holds the open orders and no others. */
export const marketNow =
  ({ views }: Pick<Gateway, 'views'>): Look =>
  async () => {
    const db = tablesOf(views)
    const orders = await db
      .selectFrom('gateway_orders_v2')
      .select(({ fn }) => ['status', fn.countAll().as('count')])
      .where('open', '=', 1)
      .groupBy('status')
      .execute()
    const live = await db
      .selectFrom('gateway_sellers')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('live', '=', 1)
      .executeTakeFirstOrThrow()
    return [
      ...orderStatuses.filter(isOpen).map((status) => {
        const count = orders.find((row) => row.status === status)?.count ?? 0
        return { gauge: ordersOpen, labels: { status }, value: Number(count) }
      }),
      { gauge: sellersLive, value: Number(live.count) },
    ]
  }
