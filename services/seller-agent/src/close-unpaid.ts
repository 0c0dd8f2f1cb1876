import { isFailure } from '@penstock/kernel/order-status.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Desk } from './desk.ts'
import type { Standing } from './market.ts'

/**
 * Whether nobody will pay for the channel of an order: the buyer has its money back, and would have the channel for free.
 * One that is paid for at the operator's loss stays (decision A4), also where a market does not tell and an operator closed
 * the order. An order that the market does not know may be one of another market, or of one that is being restored.
 */
export function mayClose(standing: Standing | undefined): boolean {
  if (!standing || !isFailure(standing.status)) return false
  if (standing.operatorLoss === undefined) return standing.status !== 'ADMIN_CLOSED'
  return standing.operatorLoss === null || standing.operatorLoss === 'REFUTED'
}

/** Whether the operator may yet pay for it: until that is decided, or done, the channel stays, and the sale is not over. */
export const isLossOpen = (standing: Standing | undefined): boolean =>
  standing?.operatorLoss === 'ASKED' || standing?.operatorLoss === 'BORNE'

/** Closes the channels that nobody pays for, as far as they are open by now. What cannot be closed yet is tried again later. */
export async function closeUnpaid({ journal, lightning, log }: Desk): Promise<void> {
  const wanted = journal.toClose()
  if (wanted.length === 0) return
  try {
    const open = (await lightning.channels.list()).filter(({ state }) => state === 'active' || state === 'inactive')
    for (const { outpoint } of open.filter((channel) => wanted.includes(channel.outpoint))) {
      await lightning.channels.close(outpoint)
      log.info({ outpoint }, 'a channel that nobody pays for is being closed')
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.warn({ reason: String(error) }, 'a channel that nobody pays for cannot be closed now; it is tried again')
  }
}
