import { command } from '@penstock/kernel/process.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { credentialHolder } from '../../access.ts'
import { sendCommand } from '../../commands/commands.ts'
import { orderNotFound } from '../../errors.ts'
import { parseId } from '../../input.ts'
import { mutation } from '../../use-case.ts'
import { requireRole } from './participant.ts'
import type { MarketOrderMutationsCancelArgs } from '../../generated/schema-types.ts'

/** Cancels an order that its buyer has not paid, or the attempt of a seller. */
export const cancelOrder = mutation({
  path: 'market.order.cancel',
  access: credentialHolder,
  input: ({ input }: MarketOrderMutationsCancelArgs) => ({
    orderId: parseId(input.order_id),
    reason: input.cancellation_reason ?? 'No reason was given.',
  }),
  run: async ({ orderId, reason }, { gateway, caller }) => {
    const { accountId, orderId: keyOrderId } = caller
    if (keyOrderId !== null && keyOrderId !== orderId) throw orderNotFound()
    const { kind: role } = await requireRole(gateway, accountId, orderId)
    // An order key acts for the buyer. It never cancels an attempt that the same account makes as a seller.
    const cancellation =
      keyOrderId === null
        ? command<OrderTarget>('order', orderId, { type: 'Cancel', data: { by: accountId, reason } })
        : command<OrderTarget>('order', orderId, { type: 'Withdraw', data: { reason } })
    // A buyer that got no answer may pay instead, so its late cancellation would only return the payment.
    await sendCommand(gateway, cancellation, role === 'seller' ? { isValidLate: true } : {})
    return { id: orderId, success: true }
  },
})
