import { command } from '@penstock/kernel/process.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { accountHolder } from '../../access.ts'
import { assertAccepted } from '../../commands/commands.ts'
import { parseId, parseTextField } from '../../input.ts'
import { storeText } from '../../store-text.ts'
import { findStoredOrder } from '../read/orders.ts'
import { mutation } from '../../use-case.ts'
import { requireRole } from './participant.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { MarketSellerMutationsRejectArgs } from '../../generated/schema-types.ts'

export const rejectOrder = mutation({
  path: 'market.order.seller.reject',
  access: accountHolder,
  input: ({ input }: MarketSellerMutationsRejectArgs) => ({ orderId: parseId(input.order_id), text: input.reason }),
  run: async ({ orderId, text }, { gateway, caller: { accountId } }) => {
    await requireRole(gateway, accountId, orderId)
    // The order is checked first, so that an unknown order is refused before an invalid reason.
    const reason = text ? parseTextField(text, 'reason', 1, 200) : null
    const record = reason === null ? null : await storeText(gateway, 'reject-reason', { reason })
    const answer = await gateway.commands.sendAndWait(
      command<OrderTarget>('order', orderId, { type: 'Reject', data: { by: accountId, record } }),
      { until: getAnswerDeadline(gateway), isValidLate: true },
    )
    // After a refusal or an earlier rejection, no fact refers to this record. Without an answer, a fact may still arrive.
    const isKept = (await findStoredOrder(gateway.views, orderId))?.order.rejection?.id === record?.id
    if (record && !isKept && answer.outcome !== 'unanswered') await gateway.records.delete(record.id)
    assertAccepted(answer)
    return { id: orderId, success: true }
  },
})
