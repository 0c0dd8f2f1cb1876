import { credentialHolder } from '../../access.ts'
import { orderNotFound } from '../../errors.ts'
import { parseId, parseTextField } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { giveRefundInvoice } from './give-refund-invoice.ts'
import { createNotFoundError } from '../read/not-found.ts'
import { findOrderForAccount } from '../read/sales.ts'
import type { MarketOrderMutationsRefundArgs } from '../../generated/schema-types.ts'

/** Gives the buyer's invoice for the amount that is owed to it. */
export const refundOrder = mutation({
  path: 'market.order.refund',
  access: credentialHolder,
  input: ({ input }: MarketOrderMutationsRefundArgs) => ({
    orderId: parseId(input.order_id),
    request: parseTextField(input.invoice, 'invoice', 1, 5000),
    preimage: parseTextField(input.preimage, 'preimage', 1, 100),
  }),
  run: async ({ orderId, request, preimage }, { gateway, caller }) => {
    if (caller.orderId !== null && caller.orderId !== orderId) throw orderNotFound()
    const found = await findOrderForAccount(gateway.views, caller.accountId, orderId)
    if (found?.role.kind !== 'buyer') throw await createNotFoundError(gateway.views, orderId)
    await giveRefundInvoice(gateway, found, { request, preimage })
    return { id: orderId, success: true }
  },
})
