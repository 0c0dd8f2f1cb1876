import { accountHolder } from '../../access.ts'
import { toOrderListRecord } from '../records/order-record.ts'
import { isGiven, parsePubkeyField } from '../../input.ts'
import { listPurchases, listSales } from '../read/sales.ts'
import { query } from '../../use-case.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { UserOrderQueriesPurchasesArgs } from '../../generated/schema-types.ts'

const parseOrderList = ({ page, input }: UserOrderQueriesPurchasesArgs) => ({
  page: parsePage(page),
  filter: {
    peerPubkey: isGiven(input?.peer_pubkey) ? parsePubkeyField(input.peer_pubkey, 'peer_pubkey') : undefined,
    actionNeeded: input?.action_needed ?? undefined,
  },
})

export const getPurchases = query({
  path: 'user.market.orders.purchases',
  access: accountHolder,
  input: parseOrderList,
  run: async ({ page, filter }, { gateway, caller: { accountId } }) => {
    const found = await listPurchases(gateway.views, accountId, page, filter)
    return toOrderListRecord(gateway, describeList(`${accountId}/purchases`, page, filter), found)
  },
})

export const getSales = query({
  path: 'user.market.orders.sales',
  sellersWorkOf: ['api', 'token'],
  access: accountHolder,
  input: parseOrderList,
  run: async ({ page, filter }, { gateway, caller: { accountId } }) => {
    const found = await listSales(gateway.views, accountId, page, filter)
    return toOrderListRecord(gateway, describeList(`${accountId}/sales`, page, filter), found)
  },
})
