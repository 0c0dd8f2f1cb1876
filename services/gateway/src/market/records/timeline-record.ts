import { type OrderStatus, evolveOrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { RecordedFact } from '../read/orders.ts'

/** Facts that only operators see, because they record messages to other services. */
const hiddenFacts = new Set(['Told'])

/** Returns an order's facts with their times, and with each change of the status. @param rejectionReason the seller's text */
export function toTimelineRecord(facts: readonly RecordedFact[], rejectionReason: string | undefined) {
  let status: OrderStatus | undefined
  return facts
    .map(({ id, at, type, data }) => {
      const nextStatus = evolveOrderStatus(status, type as OrderFact['type']) // the facts are of the order's own stream
      const changed = nextStatus !== status
      status = nextStatus
      const reason = 'reason' in data && typeof data.reason === 'string' ? data.reason : null
      const ownReason = type === 'SellerRejected' ? rejectionReason : undefined
      return { id, at: isoTime(at), fact: type, status: changed ? nextStatus : null, reason: ownReason ?? reason }
    })
    .filter(({ fact }) => !hiddenFacts.has(fact))
}
