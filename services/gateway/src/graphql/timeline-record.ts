import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Step } from '../read/orders.ts'
import { statusAfter } from '../views/order-status.ts'

/** That other services have been told is for operators. */
const unseen = new Set(['Told'])

/** Every fact of the order with its time, and the status where it changed. @param rejectedBecause in the seller's own words */
export function timelineRecord(steps: readonly Step[], rejectedBecause: string | undefined) {
  let status: OrderStatus | undefined
  return steps
    .map(({ id, at, type, data }) => {
      const after = statusAfter(status, type as OrderFact['type']) // the steps of the order's own stream
      const changed = after !== status
      status = after
      const reason = 'reason' in data && typeof data.reason === 'string' ? data.reason : null
      const given = type === 'SellerRejected' ? rejectedBecause : undefined
      return { id, at: isoTime(at), fact: type, status: changed ? after : null, reason: given ?? reason }
    })
    .filter(({ fact }) => !unseen.has(fact))
}
