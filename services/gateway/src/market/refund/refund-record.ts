import type { OrderRefund } from '../../generated/schema-types.ts'
import { buildOrderUrl } from '../../pages/page-url.ts'
import type { Gateway } from '../../ports.ts'
import { findRefundRefusal } from './give-refund-invoice.ts'
import type { StoredOrder } from '../read/orders.ts'
import { getDueToBuyerMsat } from '../views/payout-due.ts'

/** Returns the amount that is owed to the buyer; null if nothing is owed, or if the buyer's invoice is accepted. */
export function toRefundRecord(
  gateway: Pick<Gateway, 'pepper' | 'baseUrl'>,
  { order, hold }: Pick<StoredOrder, 'order' | 'hold'>,
): OrderRefund | null {
  const dueMsat = hold && getDueToBuyerMsat(hold.owed)
  if (dueMsat === undefined) return null
  return {
    id: `${order.id}/refund`,
    msats: `${dueMsat}`,
    url: buildOrderUrl(gateway, order.id),
    reason: findRefundRefusal({ hold }) ?? null,
  }
}
