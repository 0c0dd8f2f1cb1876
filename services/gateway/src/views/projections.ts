import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { channel } from '@penstock/contracts/channel.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { offer, seller } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { price, quote } from '@penstock/contracts/quote.ts'
import { settlement } from '@penstock/contracts/settlement.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import type { Waits } from '../commands/waits.ts'
import { applyToAccounts } from './accounts.ts'
import { noteAccepted, noteOutcome } from './commands.ts'
import { applyToMarket } from './market.ts'
import { migrateGateway } from './migrations.ts'
import { applyToOrders } from './orders.ts'

/** What each projection writes; tables of the gateway's own bookkeeping are no fold of facts. */
const tables = {
  orders: ['gateway_orders_v2', 'gateway_holds_v2', 'gateway_channels_v2', 'gateway_order_facts_v2', 'gateway_sales_v2'],
  market: ['gateway_offers', 'gateway_sellers', 'gateway_prices'],
  accounts: ['gateway_accounts', 'gateway_credentials', 'gateway_api_keys', 'gateway_nodes'],
} as const

/** Where rows come to say something else, or have another shape, the next version has tables of its own. */
const versions = { orders: 2, market: 1, accounts: 1 } as const

/**
 * The gateway's read models. Whoever waits for a command is woken after the commit of the rows that it changed.
 * @param waits how waiting requests of this process are woken; only needed for the moment of the commit
 */
export function gatewayProjections(
  waits: Pick<Waits, 'committed'>,
  pageHashOf: (orderId: string) => string,
): readonly Projection[] {
  const projection = (name: keyof typeof tables, from: readonly Contract[], apply: Projection['apply']): Projection => ({
    name,
    version: versions[name],
    from,
    tables: tables[name],
    migrate: migrateGateway,
    apply: async (trx, event) => {
      await apply(trx, event)
      await noteAccepted(trx, event)
    },
    outcome: noteOutcome,
    committed: (events) => waits.committed(events.flatMap(({ aggregateId, commandId }) => [aggregateId, commandId])),
    outcomeCommitted: ({ commandId, aggregateId }) => waits.committed([commandId, aggregateId]),
  })
  return [
    projection('orders', [quote, order, settlement, channel], (trx, event) => applyToOrders(trx, event, pageHashOf)),
    projection('market', [offer, seller, price], applyToMarket),
    projection('accounts', [account, emailClaim], applyToAccounts),
  ]
}
