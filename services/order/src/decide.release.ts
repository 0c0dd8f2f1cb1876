import type { OrderFact, ReleaseTo } from '@penstock/contracts/order.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { Bug, must } from '@penstock/kernel/result.ts'
import type { DataOf } from './command.ts'
import { naming } from './decide.outpoint.ts'
import { ending, fact, late, type OrderDecision, release } from './fact.ts'
import { closing, ended } from './refusal.ts'
import { isEnded, isFailed, isSettling, isValid, outpointKey, type Placed, sellerNow } from './state.ts'

export function closeByOperator(order: Placed, { by, reason, bearsLoss }: DataOf<'CloseByOperator'>): OrderDecision {
  if (order.status === 'ADMIN_CLOSED' || order.closing?.to === 'ADMIN_CLOSED') return accept()
  if (isEnded(order)) return ended(order.ending ?? order.status)
  if (isSettling(order)) return refuse('SETTLING', 'The payment is being settled; the order can no longer be closed')
  if (order.closing) return closing(order.closing.reason)
  // Decision A4: nobody else pays a seller that has published already, and whoever closes has to know it.
  if (order.named && !bearsLoss)
    return refuse(
      'BEARS_LOSS',
      `A channel was named for this order: if it is proven, the operator pays the seller ${sellerNow(order).candidate.sellerAmountMsat} msat. To close it all the same, say that you bear the loss.`,
    )
  return accept(release(order, 'ADMIN_CLOSED', reason, false, by))
}

/**
 * Settlement has its proofs and takes the money: whatever the order was about to become, it becomes valid. At the last
 * height that may be before the watcher has told everything, so the statuses in between are caught up with here.
 */
export function settling(order: Placed, { outpoint, confirmations, lastHeight }: DataOf<'RecordSettling'>): OrderDecision {
  if (isFailed(order)) return accept(...late(order, 'settling', outpoint))
  if (isSettling(order)) return accept()
  const isNamed = order.named?.outpoint === outpoint
  const opened = isNamed && order.status === 'SELLER_OPENED_CHANNEL' ? [] : [fact('ChannelOpened', { outpoint, confirmations })]
  return accept(...(isNamed ? [] : catchUp(order, outpoint)), ...opened, fact('SettlingStarted', { outpoint, lastHeight }))
}

// Settlement noted the outpoint while the order began to close.
function catchUp(order: Placed, outpoint: string): readonly OrderFact[] {
  const known = order.attempts.find(({ number }) => order.claims.includes(outpointKey({ attempt: number, outpoint })))
  must(known, 'settlement proves no outpoint that the order never gave it')
  return naming(order, known.number, outpoint, undefined)
}

export function holdSettled(order: Placed, settledAt: number): OrderDecision {
  if (isValid(order)) return accept()
  if (order.hold === 'settling') return accept(fact('OrderValid', { settledAt }))
  if (isFailed(order)) return accept(...late(order, 'hold-settled'))
  throw new Bug('a hold is settled only after it was said that it would be')
}

/** The node has cancelled the hold: now, and not before, the order ends. */
export function holdCancelled(order: Placed, { reason, verdict, sentence }: DataOf<'RecordHoldCancelled'>): OrderDecision {
  if (order.hold === 'none') return accept()
  if (isValid(order)) return accept(...late(order, 'hold-cancelled', sentence))
  if (isFailed(order)) return order.hold === 'asked' ? accept(fact('Told', { what: 'hold-closed', key: '1' })) : accept()
  const lastHeight = reason === 'last-height' || reason === 'node'
  if (order.closing) return accept(ending(order, order.closing, lastHeight))
  const to = endOf(order, reason, verdict)
  const isBreach = to === 'SELLER_FAILED_TO_SEND_SWAP' || (to === 'INVALID_CHANNEL_OPENING' && verdict !== 'spent')
  const end = ending(order, { to, reason: sentence, blamed: isBreach, by: null }, lastHeight)
  // Cancelled before it was shown to anybody.
  return order.hold === 'asked' ? accept(end, fact('Told', { what: 'hold-closed', key: '1' })) : accept(end)
}

type Cancelled = DataOf<'RecordHoldCancelled'>

/** What a hold's end means that the order did not ask for: how far its channel had come decides. */
function endOf(order: Placed, reason: Cancelled['reason'], verdict: Cancelled['verdict']): ReleaseTo {
  // A payment that came when its invoice had expired was none, whoever looked for a seller meanwhile.
  const isPaid = order.hold === 'held' && reason !== 'expired'
  switch (order.status) {
    case 'WAITING_FOR_SELLER_APPROVAL':
      return 'BUYER_REJECTED'
    case 'WAITING_FOR_BUYER_PAYMENT':
    case 'WAITING_FOR_CHANNEL_OPEN':
      return isPaid ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : 'BUYER_FAILED_TO_PAY'
    default:
      return endOfNamed(order, verdict)
  }
}

function endOfNamed({ status }: Placed, verdict: Cancelled['verdict']): ReleaseTo {
  if (verdict === 'wrong' || verdict === 'spent') return 'INVALID_CHANNEL_OPENING'
  // Where the node gave the payment back by itself nobody looked at the chain: what the watch has told counts.
  const isUnconfirmed = status === 'SELLER_SENT_TRANSACTION' || status === 'WAITING_FOR_ON_CHAIN_CONFIRMATION'
  return isUnconfirmed || verdict === 'unconfirmed' ? 'SELLER_FAILED_TO_SEND_SWAP' : 'SELLER_FAILED_TO_OPEN_CHANNEL'
}
