import { accountContract, emailClaimContract } from '@penstock/contracts/accounts.ts'
import { channelContract } from '@penstock/contracts/channel.ts'
import { contracts } from '@penstock/contracts/contracts.ts'
import { commandsFrom, type Contract } from '@penstock/contracts/define.ts'
import { offerContract, sellerContract } from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { priceContract, quoteContract } from '@penstock/contracts/quote.ts'
import { settlementContract } from '@penstock/contracts/settlement.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import type { ReadModelWaiters } from './commands/read-model-waiters.ts'
import { applyToAccounts } from './account/views/accounts.ts'
import { recordAccepted, recordOutcome } from './commands/command-outcomes.ts'
import { applyToMarket } from './market/views/market.ts'
import { migrateGateway } from './market/views/migrations.ts'
import { applyToOrders } from './market/views/orders.ts'

/** The tables that each projection writes. The gateway's other tables are not listed, because they are not folded from facts. */
const tables = {
  orders: ['gateway_orders_v2', 'gateway_holds_v2', 'gateway_channels_v2', 'gateway_order_facts_v2', 'gateway_sales_v2'],
  market: ['gateway_offers_v2', 'gateway_offer_orders_v2', 'gateway_sellers_v2', 'gateway_prices_v2'],
  accounts: ['gateway_accounts', 'gateway_credentials', 'gateway_api_keys', 'gateway_nodes'],
} as const

/** If the meaning or the shape of rows changes, the projection needs a new version with its own tables. */
const versions = { orders: 2, market: 2, accounts: 1 } as const

/**
 * Creates the projections of the gateway's read models. The commit of a command's rows wakes the request that waits for them.
 * @param waiters the waiting requests of this process, notified after each commit
 */
export function createGatewayProjections(
  waiters: Pick<ReadModelWaiters, 'notifyCommitted'>,
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
      await recordAccepted(trx, event)
    },
    outcome: recordOutcome,
    onCommitted: (events) => waiters.notifyCommitted(events.flatMap(({ aggregateId, commandId }) => [aggregateId, commandId])),
    onOutcomeCommitted: ({ commandId, aggregateId }) => waiters.notifyCommitted([commandId, aggregateId]),
  })
  const projections = [
    projection('orders', [quoteContract, orderContract, settlementContract, channelContract], (trx, event) =>
      applyToOrders(trx, event, pageHashOf),
    ),
    projection('market', [offerContract, sellerContract, priceContract], applyToMarket),
    projection('accounts', [accountContract, emailClaimContract], applyToAccounts),
  ]
  assertCommandsAnswered(contracts, projections)
  return projections
}

/** @throws Error if a projection follows no facts of a contract that the gateway commands: its callers would wait in vain */
export function assertCommandsAnswered(
  commanded: readonly Pick<Contract, 'category' | 'commands'>[],
  projections: readonly { readonly from: readonly Pick<Contract, 'category'>[] }[],
): void {
  const answered = new Set(projections.flatMap(({ from }) => from.map(({ category }) => category)))
  for (const contract of commanded) {
    const [type] = commandsFrom(contract, 'gateway')
    if (type !== undefined && !answered.has(contract.category))
      throw new Error(
        `The gateway sends ${type} to "${contract.category}" streams, and none of its projections follows their facts. ` +
          `Add the contract to a projection in services/gateway/src/views/projections.ts.`,
      )
  }
}
