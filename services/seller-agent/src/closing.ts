import { parseShortChannelId } from '@penstock/bitcoin/outpoint.ts'
import type { ClosedChannel } from '@penstock/ports/lightning.ts'
import { type Desk, record } from './desk.ts'
import type { Journal } from './journal.ts'
import type { Sale } from './sale.ts'

/**
 * Keeps the end of a channel in the journal, as a step of the sale that it was opened for, and says so where its lease was
 * not over. What was given up before anybody had it is no channel's end.
 * @returns whether that was news
 */
export async function noteClose(desk: Desk, closed: ClosedChannel): Promise<boolean> {
  if (closed.closingTxid === null || !saleClosed(desk.journal, closed)) return false
  const height = closed.height ?? (await desk.lightning.info()).height
  // The node was asked meanwhile, and somebody else may have told the same.
  const sale = saleClosed(desk.journal, closed)
  if (!sale) return false
  const { outpoint, how, by, closingTxid } = closed
  const leaseEndsAtHeight = leaseEnd(desk, sale, closed)
  const early = isLeased(sale) && (leaseEndsAtHeight === null || height < leaseEndsAtHeight)
  record(desk, sale, { type: 'Closed', outpoint, how, by, closingTxid, height: closed.height, early })
  if (early) say(desk, sale, closed, leaseEndsAtHeight)
  return true
}

/** The sale whose channel this is, while the journal lacks its end, or by whom it came. */
function saleClosed(journal: Journal, { outpoint, by }: ClosedChannel): Sale | undefined {
  const funding = journal.fundingOf(outpoint)
  if (!funding || funding.closed === 'yes' || (funding.closed === 'by-unknown' && by === null)) return undefined
  const sale = journal.find(funding.orderId)
  return sale && 'outpoint' in sale.opening && sale.opening.outpoint === outpoint ? sale : undefined
}

/** While the market has not judged yet, a channel is as good as sold. That of an order that failed nobody has paid for. */
const isLeased = ({ sold, ended }: Sale): boolean => sold || !ended

/**
 * As the market counts it, from the block of the funding on; where the node does not tell that block, from the publication,
 * a little too early. null: neither is known.
 */
function leaseEnd({ terms }: Desk, sale: Sale, { shortChannelId }: ClosedChannel): number | null {
  const { opening } = sale
  const begun =
    parseShortChannelId(shortChannelId ?? '')?.height ?? (opening.state === 'published' ? opening.feeHeight : undefined)
  return begun === undefined ? null : begun + (sale.terms.leaseBlocks ?? terms.minBlockLength)
}

function say(
  { log }: Desk,
  { orderId: order }: Sale,
  { outpoint, how, by, height, closingTxid }: ClosedChannel,
  leaseEndsAtHeight: number | null,
): void {
  const facts = { order, outpoint, how, by, closingTxid, height, leaseEndsAtHeight }
  switch (by) {
    case 'us':
      return log.warn(
        facts,
        'this node closed a channel that it sold before its lease ended: the market sees the early end, and may count it against this seller',
      )
    case 'peer':
      return log.info(
        facts,
        "the buyer's node closed a channel that was sold before its lease ended: the market sees the early end, and not by whom",
      )
    case null:
      return log.info(
        facts,
        'a channel that was sold was closed before its lease ended, and the node does not say yet by whom: the market sees the early end',
      )
  }
}
