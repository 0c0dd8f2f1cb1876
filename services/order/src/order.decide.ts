import type { OrderCommand as WireCommand } from '@penstock/contracts/order.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { assertNever } from '@penstock/kernel/result.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import {
  recordConfirmationsReached,
  recordFundingConfirmed,
  recordLeaseEnded,
  recordFundingLost,
  recordFundingReorged,
  recordFundingSeen,
  recordChannelInvalid,
} from './decide/funding.ts'
import { recordBuyerReach, lapseOpening, recordMatched, recordUnmatched } from './decide/opening.ts'
import { recordOutpointClaim, submitOutpoint, recordOutpointRegistered, recordReservationRenewal } from './decide/outpoint.ts'
import { acceptBySeller, recordPayoutInvoice, recordPayoutStatus } from './decide/payout.ts'
import {
  cancelByCaller,
  recordHoldExpiring,
  recordHoldHeld,
  recordHoldIssued,
  recordHoldRefused,
  lapseApproval,
  lapseInvoice,
  place,
  reject,
  withdraw,
} from './decide/placing.ts'
import { closeByOperator, recordHoldCancelled, recordHoldSettled, recordSettling } from './decide/release.ts'
import type { OrderDecision } from './outcomes.ts'
import { refuseNotFound } from './refusal.ts'
import type { Order, PlacedOrder } from './state.ts'

/** Enrichment adds the network of payout invoices. */
export type EnrichedOrderCommand = EnrichedCommand<WireCommand, { Accept: { readonly network: string } }>

type OfType<Type extends EnrichedOrderCommand['type']> = Extract<EnrichedOrderCommand, { readonly type: Type }>
type CallerCommand = OfType<'PlaceOrder' | 'Accept' | 'Reject' | 'Cancel' | 'Withdraw' | 'CloseByOperator' | 'SubmitOutpoint'>
type WatchCommand = OfType<
  | 'RecordFundingSeen'
  | 'RecordFundingConfirmed'
  | 'RecordConfirmationsReached'
  | 'RecordFundingReorged'
  | 'RecordFundingLost'
  | 'RecordChannelInvalid'
  | 'RecordLeaseEnded'
>

export const decide = (order: Order, command: EnrichedOrderCommand): OrderDecision =>
  order.status === 'NONE' ? decideBeforePlacement(command) : decideForCaller(order, command)

/** Before the order is placed, callers are refused, and reports of other services are ignored. */
function decideBeforePlacement(command: EnrichedOrderCommand): OrderDecision {
  switch (command.type) {
    case 'PlaceOrder':
      return place(command.data, command.at)
    case 'Accept':
    case 'Reject':
    case 'Cancel':
    case 'Withdraw':
    case 'CloseByOperator':
    case 'SubmitOutpoint':
      return refuseNotFound()
    default:
      return accept()
  }
}

/** Decides commands of callers. An impossible command is refused with the reason. */
function decideForCaller(order: PlacedOrder, command: EnrichedOrderCommand): OrderDecision {
  switch (command.type) {
    case 'PlaceOrder':
      return accept()
    case 'Accept':
      return acceptBySeller(order, command.data, command.at)
    case 'Reject':
      return reject(order, command.data)
    case 'Cancel':
      return cancelByCaller(order, command.data)
    case 'Withdraw':
      return withdraw(order, command.data.reason)
    case 'CloseByOperator':
      return closeByOperator(order, command.data)
    case 'SubmitOutpoint':
      return submitOutpoint(order, command.data)
    default:
      return decideForService(order, command)
  }
}

/** Decides reports of other services, and deadlines. New reports are recorded, and no report is refused. */
function decideForService(order: PlacedOrder, command: Exclude<EnrichedOrderCommand, CallerCommand>): OrderDecision {
  switch (command.type) {
    case 'LapseApproval':
      return lapseApproval(order, command.data.deadline)
    case 'LapseInvoice':
      return lapseInvoice(order, command.data.deadline)
    case 'LapseOpening':
      return lapseOpening(order, command.data)
    case 'RecordHoldIssued':
      return recordHoldIssued(order, command.data)
    case 'RecordHoldRefused':
      return recordHoldRefused(order, command.data.reason)
    case 'RecordHoldHeld':
      return recordHoldHeld(order, command.data)
    case 'RecordHoldExpiring':
      return recordHoldExpiring(order, command.data.reason)
    case 'RecordSettling':
      return recordSettling(order, command.data)
    case 'RecordHoldSettled':
      return recordHoldSettled(order, command.data.settledAt)
    case 'RecordHoldCancelled':
      return recordHoldCancelled(order, command.data)
    case 'RecordMatched':
      return recordMatched(order, command.data)
    case 'RecordUnmatched':
      return recordUnmatched(order, command.data)
    case 'RecordBuyerReach':
      return recordBuyerReach(order, command.data, command.at)
    case 'RecordOutpointClaim':
      return recordOutpointClaim(order, command.data)
    case 'RecordReservationRenewal':
      return recordReservationRenewal(order, command.data)
    case 'RecordOutpointRegistered':
      return recordOutpointRegistered(order, command.data)
    case 'RecordPayoutInvoice':
      return recordPayoutInvoice(order, command.data)
    case 'RecordPayout':
      return recordPayoutStatus(order, command.data)
    default:
      return decideForWatch(order, command)
  }
}

function decideForWatch(order: PlacedOrder, command: WatchCommand): OrderDecision {
  switch (command.type) {
    case 'RecordFundingSeen':
      return recordFundingSeen(order, command.data)
    case 'RecordFundingConfirmed':
      return recordFundingConfirmed(order, command.data)
    case 'RecordConfirmationsReached':
      return recordConfirmationsReached(order, command.data)
    case 'RecordFundingReorged':
      return recordFundingReorged(order, command.data)
    case 'RecordFundingLost':
      return recordFundingLost(order, command.data)
    case 'RecordChannelInvalid':
      return recordChannelInvalid(order, command.data)
    case 'RecordLeaseEnded':
      return recordLeaseEnded(order, command.data)
    default:
      return assertNever(command)
  }
}
