import { orderUnavailable } from '../../errors.ts'
import type { Gateway } from '../../ports.ts'
import { findStoredOrder } from '../read/orders.ts'
import type { OrderView, SubmissionView } from '../views/order-view.ts'

/** Waits for the verdict on an outpoint or payout invoice. @returns undefined if none arrived in time */
export async function waitForVerdict(
  gateway: Gateway,
  orderId: string,
  select: (view: OrderView) => SubmissionView | undefined,
  until: number,
): Promise<SubmissionView | undefined> {
  const readVerdict = async (): Promise<SubmissionView | undefined> => {
    const stored = await findStoredOrder(gateway.views, orderId)
    if (!stored) throw orderUnavailable()
    const found = select(stored.order)
    return found && found.state !== 'submitted' ? found : undefined
  }
  return gateway.waiters.wait(readVerdict, [orderId], until)
}
