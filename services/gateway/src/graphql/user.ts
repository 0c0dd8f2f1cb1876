import { isoTime } from '@penstock/kernel/time.ts'
import { accountHolder, type Caller, someone } from '../callers.ts'
import { missing } from '../read/missing.ts'
import { idOf, listOf, type PageInput, pageOf, pubkeyOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { reasonGiven } from '../read/reason.ts'
import { type Listed, ordersOfBuyer, stepsOf } from '../read/orders.ts'
import { type OrderFilter, orderForAccount, type OrderInRole, purchasesOfAccount, salesOfAccount } from '../read/sales.ts'
import { withinLimit } from '../operations/throttle.ts'
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

const listRecord = (gateway: Gateway, shown: ReturnType<typeof listOf>, { total, list }: Listed<OrderInRole>) => ({
  ...shown,
  total,
  total_count: total,
  list: list.map((found) => orderRecord(gateway, found)),
})

/** With what is read only where the document asks for it. */
export const wholeOrder = (gateway: Gateway, found: OrderInRole) => ({
  ...orderRecord(gateway, found),
  timeline: async () => timelineRecord(await stepsOf(gateway.views, found.order.id), await reasonGiven(gateway, found.order)),
})

/** An order key reads one order, every other credential those of its account. */
const mayRead = (caller: Caller, orderId: string): boolean => caller.orderId === null || caller.orderId === orderId

export const orderQueries = {
  get_order: reading(async ({ order_id }: { order_id: string }, { gateway, caller, ip }) => {
    const reader = someone(caller)
    const id = idOf(order_id)
    await withinLimit(gateway, { name: 'order-polls', subject: id, ip, perMinute: gateway.config.orderPollsPerMinute })
    const found = mayRead(reader, id) ? await orderForAccount(gateway.views, reader.accountId, id) : undefined
    if (!found) throw await missing(gateway.views, id)
    return wholeOrder(gateway, found)
  }),
  purchases: reading(async (args: ListArgs, { gateway, caller }) => {
    const { accountId } = accountHolder(caller)
    const [page, filter] = [pageOf(args.page), filterOf(args)]
    const found = await purchasesOfAccount(gateway.views, accountId, page, filter)
    return listRecord(gateway, listOf(`${accountId}/purchases`, page, filter), found)
  }),
  sales: reading(async (args: ListArgs, { gateway, caller }) => {
    const { accountId } = accountHolder(caller)
    const [page, filter] = [pageOf(args.page), filterOf(args)]
    const found = await salesOfAccount(gateway.views, accountId, page, filter)
    return listRecord(gateway, listOf(`${accountId}/sales`, page, filter), found)
  }),
}

export const transactionQueries = {
  transaction_list: reading(async ({ page }: { page?: PageInput }, { gateway, caller }) => {
    const { accountId, orderId } = someone(caller)
    const pagination = pageOf(page)
    const { total, list } = await ordersOfBuyer(gateway.views, accountId, orderId, pagination)
    return {
      ...listOf(`${orderId ?? accountId}/transactions`, pagination),
      total_count: total,
      list: list.map(({ id, status, createdAt }) => ({ id, status, created_at: isoTime(createdAt) })),
    }
  }),
}
