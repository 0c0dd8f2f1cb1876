import { type AuthenticatedCaller, credentialHolder } from '../../access.ts'
import { toFullOrderRecord } from '../records/full-order-record.ts'
import { parseId } from '../../input.ts'
import { enforceRateLimit } from '../../rate-limit.ts'
import { createNotFoundError } from '../read/not-found.ts'
import { findOrderForAccount } from '../read/sales.ts'
import { query } from '../../use-case.ts'
import type { UserOrderQueriesGetOrderArgs } from '../../generated/schema-types.ts'

/** An order key reads one order; every other credential reads all orders of its account. */
const mayRead = (caller: AuthenticatedCaller, orderId: string): boolean => caller.orderId === null || caller.orderId === orderId

export const getOrder = query({
  path: 'user.market.orders.get_order',
  // A seller's agent asks with an API key before it publishes a funding. The buyer of `buy` gets another key for its polls.
  sellersWorkOf: ['api'],
  access: credentialHolder,
  input: ({ order_id }: UserOrderQueriesGetOrderArgs) => parseId(order_id),
  run: async (id, { gateway, caller, ip }) => {
    await enforceRateLimit(gateway, { name: 'order-polls', subject: id, ip, perMinute: gateway.config.orderPollsPerMinute })
    const found = mayRead(caller, id) ? await findOrderForAccount(gateway.views, caller.accountId, id) : undefined
    if (!found) throw await createNotFoundError(gateway.views, id)
    return toFullOrderRecord(gateway, found, caller)
  },
})
