import type { makeExecutableSchema } from '@graphql-tools/schema'
import { accountMutations, accountQueries, nodeMutations } from './account.ts'
import { liquidityMutations } from './liquidity.ts'
import { marketLiquidityQueries, marketOfferQueries, offerMutations, orderMutations, sellerMutations } from './market.ts'
import type { Context } from './context.ts'
import { orderQueries, transactionQueries } from './user.ts'

type Resolvers = NonNullable<Parameters<typeof makeExecutableSchema<Context>>[0]['resolvers']>

/** A namespace is an object of its own, made at once: its operations begin in the order of the document. */
const namespace = (id: string) => () => ({ id })

export const resolvers: Resolvers = {
  Query: { market: namespace('market'), user: namespace('user'), account: namespace('account') },
  Mutation: { market: namespace('market'), liquidity: namespace('liquidity'), account: namespace('account') },
  MarketQueries: { liquidity: namespace('market.liquidity'), offer: namespace('market.offer') },
  MarketLiquidityQueries: marketLiquidityQueries,
  MarketOfferQueries: marketOfferQueries,
  UserQueries: { market: namespace('user.market'), transactions: namespace('user.transactions') },
  UserMarketQueries: { orders: namespace('user.market.orders') },
  UserOrderQueries: orderQueries,
  UserTransactionQueries: transactionQueries,
  AccountQueries: accountQueries,
  MarketMutations: { offer: namespace('market.offer'), order: namespace('market.order') },
  MarketOfferMutations: offerMutations,
  MarketOrderMutations: { seller: namespace('market.order.seller'), ...orderMutations },
  MarketSellerMutations: sellerMutations,
  LiquidityMutations: liquidityMutations,
  AccountMutations: { node: namespace('account.node'), ...accountMutations },
  AccountNodeMutations: nodeMutations,
}
