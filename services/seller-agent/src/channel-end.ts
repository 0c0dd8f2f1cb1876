import { parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { type AgentContext, recordStep } from './context.ts'
import type { Journal } from './journal.ts'
import type { SaleState } from './sale.ts'

/**
 * Records the end of a sold channel as a step of its sale in the journal. A close before the end of the lease is also logged.
 * An abandoned funding has no closing transaction, and is ignored.
 * @returns whether the end was new
 */
export async function recordChannelEnd(context: AgentContext, closed: ClosedChannel): Promise<boolean> {
  if (closed.closingTxid === null || !findSaleOfChannel(context.journal, closed)) return false
  const height = closed.height ?? (await context.lightning.info()).height
  // Another loop may have recorded the same end while the node answered.
  const sale = findSaleOfChannel(context.journal, closed)
  if (!sale) return false
  const { outpoint, how, by, closingTxid } = closed
  const leaseEndsAtHeight = leaseEndHeightOf(context, sale, closed)
  const early = isLeased(sale) && (leaseEndsAtHeight === null || height < leaseEndsAtHeight)
  recordStep(context, sale, { type: 'Closed', outpoint, how, by, closingTxid, height: closed.height, early })
  if (early) logEarlyEnd(context, sale, closed, leaseEndsAtHeight)
  return true
}

/** @returns the sale of the channel; undefined if the journal does not know the channel, or already records this end */
function findSaleOfChannel(journal: Journal, { outpoint, by }: ClosedChannel): SaleState | undefined {
  const funding = journal.findFunding(outpoint)
  if (!funding || funding.closed === 'yes' || (funding.closed === 'by-unknown' && by === null)) return undefined
  const sale = journal.findSale(funding.orderId)
  return sale && 'outpoint' in sale.opening && sale.opening.outpoint === outpoint ? sale : undefined
}

/** Whether the channel has a lease: it is sold, or the market has not decided yet. A failed order has no lease. */
const isLeased = ({ isChannelSold, hasEnded }: SaleState): boolean => isChannelSold || !hasEnded

/**
 * @returns the height at which the channel lease ends, counted from the funding's block, as the market counts it. If the node
 * does not know that block, the height of the publication replaces it, which is a little earlier. null if neither is known
 */
function leaseEndHeightOf({ terms }: AgentContext, sale: SaleState, { shortChannelId }: ClosedChannel): number | null {
  const { opening } = sale
  const startHeight =
    parseShortChannelId(shortChannelId ?? '')?.height ?? (opening.state === 'published' ? opening.feeHeight : undefined)
  return startHeight === undefined ? null : startHeight + (sale.terms.leaseBlocks ?? terms.minBlockLength)
}

function logEarlyEnd(
  { log }: AgentContext,
  { orderId: order }: SaleState,
  { outpoint, how, by, height, closingTxid }: ClosedChannel,
  leaseEndsAtHeight: number | null,
): void {
  const facts = { order, outpoint, how, by, closingTxid, height, leaseEndsAtHeight }
  switch (by) {
    case 'us':
      return log.warn(
        facts,
        'this node closed a channel that it sold before its lease ended; the market records the early end, and may count it against this seller',
      )
    case 'peer':
      return log.info(
        facts,
        "the buyer's node closed a channel that was sold before its lease ended; the market records an early end without attribution",
      )
    case null:
      return log.info(
        facts,
        'a channel that was sold was closed before its lease ended, and the closing party is not known yet; the market records the early end',
      )
  }
}
