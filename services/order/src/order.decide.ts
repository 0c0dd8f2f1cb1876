import type { OrderCommand as WireCommand } from '@penstock/contracts/order.ts'
import { accept } from '@penstock/kernel/decider.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import type { DataOf } from './command.ts'
import { isAwaited, releaseQuestion } from './duties.ts'
import { confirmationsReached, confirmed, leaseEnded, lost, reorged, seen, wrong } from './decide.funding.ts'
import { buyerReach, lapseOpening, matched, unmatched } from './decide.opening.ts'
import { claimed, nameOutpoint, outpointNoted, rereserved } from './decide.outpoint.ts'
import { acceptSale, payoutInvoice, payoutNews } from './decide.payout.ts'
import {
  cancel,
  holdExpiring,
  holdHeld,
  holdIssued,
  holdRefused,
  lapseApproval,
  place,
  reject,
  withdraw,
} from './decide.placing.ts'
import { closeByOperator, holdCancelled, holdSettled, settling } from './decide.release.ts'
import { fact, type OrderDecision } from './fact.ts'
import { notFound } from './refusal.ts'
import type { Order, Placed } from './state.ts'

/** With the network that payout invoices must be of. */
export type OrderCommand = Enriched<WireCommand, { Accept: { readonly network: string } }>

export const decide = (order: Order, command: OrderCommand): OrderDecision =>
  order.status === 'NONE' ? begin(command) : (fromCaller(order, command) ?? fromProcess(order, command))

/** Before the order is placed nobody can ask for anything, and what others tell is of no order. */
function begin(command: OrderCommand): OrderDecision {
  switch (command.type) {
    case 'PlaceOrder':
      return place(command.data, command.at)
    case 'Accept':
    case 'Reject':
    case 'Cancel':
    case 'Withdraw':
    case 'CloseByOperator':
    case 'NameOutpoint':
      return notFound()
    default:
      return accept()
  }
}

/** What people want: refused with the reason where it cannot be. */
function fromCaller(order: Placed, command: OrderCommand): OrderDecision | undefined {
  switch (command.type) {
    case 'Accept':
      return acceptSale(order, command.data, command.at)
    case 'Reject':
      return reject(order, command.data)
    case 'Cancel':
      return cancel(order, command.data)
    case 'Withdraw':
      return withdraw(order, command.data.reason)
    case 'CloseByOperator':
      return closeByOperator(order, command.data)
    case 'NameOutpoint':
      return nameOutpoint(order, command.data)
    default:
      return undefined
  }
}

/** What other services saw and timers say: taken down where it is news, never refused. */
function fromProcess(order: Placed, command: OrderCommand): OrderDecision {
  switch (command.type) {
    case 'LapseApproval':
      return lapseApproval(order, command.data.deadline)
    case 'LapseOpening':
      return lapseOpening(order, command.data)
    case 'RecordHoldIssued':
      return holdIssued(order, command.data)
    case 'RecordHoldRefused':
      return holdRefused(order, command.data.reason)
    case 'RecordHoldHeld':
      return holdHeld(order, command.data)
    case 'RecordHoldExpiring':
      return holdExpiring(order, command.data.reason)
    case 'RecordSettling':
      return settling(order, command.data)
    case 'RecordHoldSettled':
      return holdSettled(order, command.data.settledAt)
    case 'RecordHoldCancelled':
      return holdCancelled(order, command.data)
    case 'RecordMatched':
      return matched(order, command.data)
    case 'RecordUnmatched':
      return unmatched(order, command.data)
    case 'RecordBuyerReach':
      return buyerReach(order, command.data, command.at)
    case 'RecordOutpointClaim':
      return claimed(order, command.data)
    case 'RecordRereserved':
      return rereserved(order, command.data)
    case 'RecordOutpointNoted':
      return outpointNoted(order, command.data)
    default:
      return fromWatch(order, command)
  }
}

function fromWatch(order: Placed, command: OrderCommand): OrderDecision {
  switch (command.type) {
    case 'RecordFundingSeen':
      return seen(order, command.data)
    case 'RecordFundingConfirmed':
      return confirmed(order, command.data)
    case 'RecordConfirmationsReached':
      return confirmationsReached(order, command.data)
    case 'RecordFundingReorged':
      return reorged(order, command.data)
    case 'RecordFundingLost':
      return lost(order, command.data)
    case 'RecordChannelWrong':
      return wrong(order, command.data)
    case 'RecordLeaseEnded':
      return leaseEnded(order, command.data)
    case 'RecordPayoutInvoice':
      return payoutInvoice(order, command.data)
    case 'RecordPayout':
      return payoutNews(order, command.data)
    case 'RecordTold':
      return recordTold(order, command.data)
    default:
      return accept()
  }
}

/** An answer to an earlier question is none to this one. */
function recordTold(order: Placed, { naming, question, ...told }: DataOf<'RecordTold'>): OrderDecision {
  // A watch of an earlier naming of the same outpoint. 0: told by a version that did not count.
  const isOfEarlierNaming = naming !== undefined && naming !== 0 && naming < (order.named?.number ?? 0)
  const isOlder = isOfEarlierNaming || (question !== undefined && question < releaseQuestion(order, Number(told.key)))
  return isAwaited(order, told) && !isOlder ? accept(fact('Told', told)) : accept()
}
