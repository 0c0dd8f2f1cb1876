import { accountHolder } from '../../access.ts'
import { toOrderListRecord } from '../records/order-record.ts'
import { parsePubkeyField } from '../../input.ts'
import { listPurchases, listSales } from '../read/sales.ts'
import { query } from '../../use-case.ts'
import { describeList, type PageInput, parsePage } from '../../list-page.ts'

type OrderListInput = {
  readonly page?: PageInput
  readonly input?: { readonly peer_pubkey?: string | null; readonly action_needed?: boolean | null }
}

const parseOrderList = ({ page, input }: OrderListInput) => ({
  page: parsePage(page),
  filter: {
    peerPubkey: input?.peer_pubkey ? parsePubkeyField(input.peer_pubkey, 'peer_pubkey') : undefined,
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
  access: accountHolder,
  input: parseOrderList,
  run: async ({ page, filter }, { gateway, caller: { accountId } }) => {
    const found = await listSales(gateway.views, accountId, page, filter)
    return toOrderListRecord(gateway, describeList(`${accountId}/sales`, page, filter), found)
  },
})
