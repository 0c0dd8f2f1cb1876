import { isoTime } from '@penstock/kernel/time.ts'
import { accountHolder, type Caller, someone } from '../callers.ts'
import { orderNotFound } from '../errors.ts'
import { idOf, type PageInput, pageOf, pubkeyOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { type Listed, ordersOfBuyer, stepsOf } from '../read/orders.ts'
import { type OrderFilter, orderForAccount, type OrderInRole, purchasesOfAccount, salesOfAccount } from '../read/sales.ts'
import { orderRecord } from './order-record.ts'
import { reading } from './operation.ts'
import { timelineRecord } from './timeline-record.ts'

type ListArgs = {
  readonly page?: PageInput
  readonly input?: { readonly peer_pubkey?: string | null; readonly action_needed?: boolean | null }
}

const filterOf = ({ input }: ListArgs): OrderFilter => ({
  peerPubkey: input?.peer_pubkey ? pubkeyOf(input.peer_pubkey, 'peer_pubkey') : undefined,
  actionNeeded: input?.action_needed ?? undefined,
})

const listRecord = (id: string, pagination: object, { total, list }: Listed<OrderInRole>) => ({
  id,
  total,
  total_count: total,
  pagination,
  list: list.map(orderRecord),
})

/** With what is read only where the document asks for it. */
export const wholeOrder = ({ views }: Pick<Gateway, 'views'>, found: OrderInRole) => ({
  ...orderRecord(found),
  timeline: async () => timelineRecord(await stepsOf(views, found.order.id)),
})

/** An order key reads one order, every other credential those of its account. */
const mayRead = (caller: Caller, orderId: string): boolean => caller.orderId === null || caller.orderId === orderId

export const orderQueries = {
  get_order: reading(async ({ order_id }: { order_id: string }, { gateway, caller }) => {
    const reader = someone(caller)
    const id = idOf(order_id)
    const found = mayRead(reader, id) ? await orderForAccount(gateway.views, reader.accountId, id) : undefined
    if (!found) throw orderNotFound()
    return wholeOrder(gateway, found)
  }),
  purchases: reading(async (args: ListArgs, { gateway, caller }) => {
    const { accountId } = accountHolder(caller)
    const pagination = pageOf(args.page)
    return listRecord(
      `${accountId}/purchases`,
      pagination,
      await purchasesOfAccount(gateway.views, accountId, pagination, filterOf(args)),
    )
  }),
  sales: reading(async (args: ListArgs, { gateway, caller }) => {
    const { accountId } = accountHolder(caller)
    const pagination = pageOf(args.page)
    return listRecord(
      `${accountId}/sales`,
      pagination,
      await salesOfAccount(gateway.views, accountId, pagination, filterOf(args)),
    )
  }),
}

export const transactionQueries = {
  transaction_list: reading(async ({ page }: { page?: PageInput }, { gateway, caller }) => {
    const { accountId, orderId } = someone(caller)
    const pagination = pageOf(page)
    const { total, list } = await ordersOfBuyer(gateway.views, accountId, orderId, pagination)
    return {
      id: `${accountId}/transactions`,
      total_count: total,
      pagination,
      list: list.map(({ id, status, createdAt }) => ({ id, status, created_at: isoTime(createdAt) })),
    }
  }),
}
