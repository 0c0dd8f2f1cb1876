import { isFailure } from '@penstock/contracts/order/lifecycle.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { AgentContext } from './context.ts'
import type { OrderSummary } from './market-client.ts'

/**
 * Whether the agent may close the channel of an order: the order failed, so the buyer has its payment back and the seller is
 * not paid. A channel with an operator loss stays open (decision A4). If the market sends no operator loss, a channel whose
 * order an operator closed stays open too. An unknown order may belong to another market, or to a market being restored.
 */
export function mayClose(order: OrderSummary | undefined): boolean {
  if (!order || !isFailure(order.status)) return false
  if (order.operatorLoss === undefined) return order.status !== 'ADMIN_CLOSED'
  return order.operatorLoss === null || order.operatorLoss === 'REFUTED'
}

/** Whether the operator may still pay for the channel. As long as this is true, the channel stays open and the sale goes on. */
export const isLossOpen = (order: OrderSummary | undefined): boolean =>
  order?.operatorLoss === 'ASKED' || order?.operatorLoss === 'BORNE'

/** Closes the channels that the journal lists for closing and that are open. The next call retries a failed close. */
export async function closeUnpaidChannels({ journal, lightning, log }: AgentContext): Promise<void> {
  const outpoints = journal.listChannelsToClose()
  if (outpoints.length === 0) return
  try {
    const open = (await lightning.channels.list()).filter(({ state }) => state === 'active' || state === 'inactive')
    for (const { outpoint } of open.filter((channel) => outpoints.includes(channel.outpoint))) {
      await lightning.channels.close(outpoint)
      log.info({ outpoint }, 'a channel that nobody pays for is being closed')
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.warn({ reason: String(error) }, 'closing a channel that nobody pays for failed; retrying')
  }
}
