import { channelContract } from '@penstock/contracts/channel.ts'
import { offerContract, sellerContract } from '@penstock/contracts/matching.ts'
import { orderStatuses } from '@penstock/contracts/order/lifecycle.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { priceContract, quoteContract } from '@penstock/contracts/quote.ts'
import { settlementContract } from '@penstock/contracts/settlement.ts'
import { applyEach, type Area, readSdl } from '../area.ts'
import { pruneQuota } from './purchase/order-quota.ts'
import { createMarketGaugeReader } from './read/gauges.ts'
import { acceptOrder } from './use-cases/accept-order.ts'
import { addTransaction } from './use-cases/add-transaction.ts'
import { buyLiquidity } from './use-cases/buy-liquidity.ts'
import { cancelOrder } from './use-cases/cancel-order.ts'
import { createManualOrder } from './use-cases/create-manual-order.ts'
import { createOffer } from './use-cases/create-offer.ts'
import { getOffer, getOwnOffer } from './use-cases/get-offer.ts'
import { getOffers, getOwnOffers } from './use-cases/get-offers.ts'
import { getOrder } from './use-cases/get-order.ts'
import { getPurchases, getSales } from './use-cases/get-orders.ts'
import { getPrice } from './use-cases/get-price.ts'
import { getTransactions } from './use-cases/get-transactions.ts'
import { refundOrder } from './refund/refund-order.ts'
import { rejectOrder } from './use-cases/reject-order.ts'
import { submitAttestation } from './use-cases/submit-attestation.ts'
import { toggleOffer } from './use-cases/toggle-offer.ts'
import { updateOffer } from './use-cases/update-offer.ts'
import { applyToMarket } from './views/market.ts'
import { marketMigrations } from './views/migrations.ts'
import { applyToOrders } from './views/orders.ts'

/** Derived from the lifecycle table, so that the schema contains each new status. */
const orderStatusEnum = `enum OrderStatus { ${orderStatuses.join(' ')} }`

/** Offers, prices and orders: buying and selling of channels. */
export const marketArea: Area = {
  sdl: [
    ...['market.graphql', 'liquidity.graphql', 'user.graphql'].map((name) => readSdl(name, import.meta.url)),
    orderStatusEnum,
  ],
  useCases: [
    getOffers,
    getOffer,
    getPrice,
    getOrder,
    getPurchases,
    getSales,
    getOwnOffers,
    getOwnOffer,
    getTransactions,
    createOffer,
    updateOffer,
    toggleOffer,
    submitAttestation,
    buyLiquidity,
    createManualOrder,
    cancelOrder,
    refundOrder,
    acceptOrder,
    rejectOrder,
    addTransaction,
  ],
  projections: [
    {
      name: 'orders',
      version: 2,
      from: [quoteContract, orderContract, settlementContract, channelContract],
      tables: ['gateway_orders_v2', 'gateway_holds_v2', 'gateway_channels_v2', 'gateway_order_facts_v2', 'gateway_sales_v2'],
      apply: applyToOrders,
    },
    {
      name: 'market',
      version: 2,
      from: [offerContract, sellerContract, priceContract],
      tables: ['gateway_offers_v2', 'gateway_offer_orders_v2', 'gateway_sellers_v2', 'gateway_prices_v2'],
      apply: applyEach(applyToMarket),
    },
  ],
  migrations: marketMigrations,
  prune: ({ views, clock }) => pruneQuota(views, clock.now()),
  createGaugeReader: createMarketGaugeReader,
}
