import { isoTime } from '@penstock/kernel/time.ts'
import { credentialHolder } from '../../access.ts'
import { listOrdersOfBuyer } from '../read/orders.ts'
import { query } from '../../use-case.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { UserTransactionQueriesTransactionListArgs } from '../../generated/schema-types.ts'

export const getTransactions = query({
  path: 'user.transactions.transaction_list',
  access: credentialHolder,
  input: ({ page }: UserTransactionQueriesTransactionListArgs) => parsePage(page),
  run: async (page, { gateway, caller: { accountId, orderId } }) => {
    const { total, list } = await listOrdersOfBuyer(gateway.views, accountId, orderId, page)
    return {
      ...describeList(`${orderId ?? accountId}/transactions`, page),
      total_count: total,
      list: list.map(({ id, status, createdAt }) => ({ id, status, created_at: isoTime(createdAt) })),
    }
  },
})
