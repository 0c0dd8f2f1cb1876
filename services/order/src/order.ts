import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { evolveAttempts } from './attempt.ts'
import { decide, type EnrichedOrderCommand } from './order.decide.ts'
import { orderMachine } from './order.machine.ts'
import { evolvePayoutInvoices } from './payout.ts'
import type { OrderRefusal } from './refusal.ts'
import {
  type AcceptedOutpoint,
  type PendingOutpoint,
  type Order,
  type OrderLifecycleStatus,
  type PlacedOrder,
  outpointKeyOf,
  findPendingSearch,
  type Acknowledgement,
  acknowledgementKeyOf,
  WATCH_STOPPED,
} from './state.ts'

// With the acknowledgement of earlier versions, a lost funding has the same state and the same state hash in all versions.
const addLoss = (order: PlacedOrder): PlacedOrder => ({ ...order, acknowledged: [...order.acknowledged, WATCH_STOPPED] })

export const orderLifecycle = compileLifecycle<OrderLifecycleStatus, OrderFact['type']>(orderMachine)

function evolve(order: Order, fact: OrderFact): Order {
  const status = orderLifecycle.after(order.status, fact.type)
  if (!status || status === 'NONE') throw new Bug(`${fact.type} cannot follow ${order.status}`)
  const before = order.status === 'NONE' ? createOrder(fact) : order
  const after: PlacedOrder = {
    ...evolvePlacedOrder(before, fact),
    status,
    attempts: evolveAttempts(before.attempts, fact),
    payoutInvoices: evolvePayoutInvoices(before, fact),
  }
  const lastSearch = findPendingSearch(after) ?? 0
  return lastSearch > after.lastSearch ? { ...after, lastSearch } : after
}

function createOrder({ type, data }: OrderFact): PlacedOrder {
  if (type !== 'OrderPlaced') throw new Bug(`${type} cannot begin an order`)
  const { approveBefore, ...terms } = data
  return {
    status: 'WAITING_FOR_SELLER_APPROVAL',
    terms,
    approveBefore,
    hold: 'none',
    openBeforeHeight: 0,
    heldAtHeight: 0,
    attempts: [],
    reachChecks: 0,
    unreachableReport: null,
    lastSearch: 0,
    failedSearch: null,
    outpointCount: 0,
    pendingOutpoint: null,
    claimedOutpoints: [],
    rejectedOutpoints: [],
    outpoint: null,
    closing: null,
    endReason: null,
    payoutInvoices: [],
    payoutStatuses: [],
    acknowledged: [],
    lateEvents: [],
  }
}

/** Applies a fact to the parts of the state other than status, attempts and payout invoices. */
function evolvePlacedOrder(order: PlacedOrder, fact: OrderFact): PlacedOrder {
  const { type, data } = fact
  switch (type) {
    case 'SellerAccepted':
      return { ...order, hold: 'asked' }
    case 'HoldIssuedRecorded':
      return { ...order, hold: 'issued' }
    case 'PaymentHeld':
      return { ...order, hold: 'held', openBeforeHeight: data.openBeforeHeight, heldAtHeight: data.heldAtHeight }
    case 'OutpointSubmitted':
    case 'LateOutpointSubmitted':
    case 'ReservationRenewedRecorded':
    case 'OutpointClaimedRecorded':
    case 'OutpointRefused':
    case 'AttestationGiven':
    case 'OutpointAccepted':
    case 'FundingLostRecorded':
      return evolveOutpoint(order, fact)
    case 'FundingConfirmedRecorded':
    case 'FundingReorgedRecorded':
    case 'ChannelFoundInvalid':
    case 'ChannelOpened':
      return { ...order, outpoint: order.outpoint && evolveFunding(order.outpoint, fact) }
    case 'SearchFailed':
      return { ...order, failedSearch: data }
    case 'ReleaseRequested':
      return { ...order, closing: data }
    case 'SettlingStarted':
      return { ...order, hold: 'settling', closing: null, pendingOutpoint: null }
    case 'OrderValid':
      return { ...order, hold: 'settled' }
    case 'Told':
      return addAcknowledgement(order, data)
    case 'PayoutStatusRecorded':
      return { ...order, payoutStatuses: [...order.payoutStatuses, `${data.what} ${data.detail ?? ''}`] }
    case 'LateMessageRecorded':
      return { ...order, lateEvents: [...order.lateEvents, data.what] }
    case 'SellerRejected':
    case 'SellerFailedToReact':
    case 'BuyerRejected':
    case 'BuyerFailedToPay':
    case 'SellerFailedToOpenChannel':
    case 'SellerFailedToSendSwap':
    case 'InvalidChannelOpening':
    case 'AdminClosed':
      return applyEnd(order, data.reason)
    case 'AttemptStarted':
    case 'UnreachableReported':
    case 'AttemptFailed':
      return evolveReach(order, fact)
    case 'OrderPlaced':
    case 'ChannelOpenRequested':
    case 'FundingSeenRecorded':
    case 'MonitoringFinished':
    case 'PayoutInvoiceSubmittedRecorded':
    case 'PayoutInvoiceAcceptedRecorded':
    case 'PayoutInvoiceRefusedRecorded':
      return order
  }
}

const addAcknowledgement = (order: PlacedOrder, data: Acknowledgement): PlacedOrder => ({
  ...order,
  acknowledged: [...order.acknowledged, acknowledgementKeyOf(data)],
  ...(data.what === 'hold-closed' && { hold: 'closed' as const }),
})

type FundingFact = Extract<
  OrderFact,
  { type: 'FundingConfirmedRecorded' | 'FundingReorgedRecorded' | 'ChannelFoundInvalid' | 'ChannelOpened' }
>

/** Applies a report of the watch to the accepted outpoint. */
function evolveFunding(accepted: AcceptedOutpoint, { type, data }: FundingFact): AcceptedOutpoint {
  switch (type) {
    case 'FundingConfirmedRecorded':
      return { ...accepted, confirmation: { height: data.height, channelId: data.channelId } }
    case 'FundingReorgedRecorded':
      return { ...accepted, confirmation: null }
    case 'ChannelFoundInvalid':
      return { ...accepted, defect: { reason: data.reason, blamed: data.blamed } }
    case 'ChannelOpened':
      return { ...accepted, timesOpened: accepted.timesOpened + 1 }
  }
}

type ReachFact = Extract<OrderFact, { type: 'AttemptStarted' | 'UnreachableReported' | 'AttemptFailed' }>

function evolveReach(order: PlacedOrder, { type, data }: ReachFact): PlacedOrder {
  if (type === 'AttemptFailed') return order.unreachableReport === data.attempt ? { ...order, unreachableReport: null } : order
  return { ...order, reachChecks: order.reachChecks + 1, unreachableReport: type === 'UnreachableReported' ? data.attempt : null }
}

// The order ends only after the node has cancelled an issued invoice. An invoice that was only requested may still be issued,
// and is cancelled then.
const applyEnd = (order: PlacedOrder, reason: string): PlacedOrder => ({
  ...order,
  endReason: reason,
  closing: null,
  pendingOutpoint: null,
  hold: order.hold === 'none' || order.hold === 'asked' ? order.hold : 'closed',
})

type OutpointFact = Extract<
  OrderFact,
  {
    type:
      | 'OutpointSubmitted'
      | 'LateOutpointSubmitted'
      | 'ReservationRenewedRecorded'
      | 'OutpointClaimedRecorded'
      | 'OutpointRefused'
      | 'AttestationGiven'
      | 'OutpointAccepted'
      | 'FundingLostRecorded'
  }
>

function evolveOutpoint(order: PlacedOrder, { type, data }: OutpointFact): PlacedOrder {
  const { pendingOutpoint, outpoint: accepted } = order
  switch (type) {
    case 'OutpointSubmitted':
      // A seller that submits an outpoint has connected to the buyer's node.
      return setPendingOutpoint(
        { ...order, unreachableReport: null },
        { number: order.outpointCount + 1, ...data, stage: 'claiming' },
      )
    case 'LateOutpointSubmitted': {
      const acknowledged = order.acknowledged.filter((key) => key !== `match-released ${data.attempt}`)
      return setPendingOutpoint({ ...order, acknowledged }, { number: order.outpointCount + 1, ...data, stage: 'renewing' })
    }
    case 'ReservationRenewedRecorded':
      return { ...order, pendingOutpoint: pendingOutpoint && { ...pendingOutpoint, stage: 'claiming' } }
    case 'OutpointClaimedRecorded':
      return {
        ...order,
        claimedOutpoints: [...order.claimedOutpoints, outpointKeyOf(data)],
        pendingOutpoint: pendingOutpoint && { ...pendingOutpoint, stage: 'noting' },
      }
    case 'OutpointRefused':
      return { ...order, pendingOutpoint: null, rejectedOutpoints: [...order.rejectedOutpoints, data] }
    case 'AttestationGiven':
      return pendingOutpoint?.outpoint === data.outpoint
        ? { ...order, pendingOutpoint: { ...pendingOutpoint, attestation: data.attestation } }
        : { ...order, outpoint: accepted && { ...accepted, attestation: data.attestation, hasLateAttestation: true } }
    case 'OutpointAccepted':
      return setAcceptedOutpoint(order, data.outpoint, data.attempt)
    case 'FundingLostRecorded':
      return addLoss(order)
  }
}

const setPendingOutpoint = (order: PlacedOrder, pendingOutpoint: PendingOutpoint): PlacedOrder => ({
  ...order,
  outpointCount: pendingOutpoint.number,
  pendingOutpoint,
})

function setAcceptedOutpoint(order: PlacedOrder, outpoint: string, attempt: number): PlacedOrder {
  const { pendingOutpoint } = order
  const { number, attestation } =
    pendingOutpoint?.outpoint === outpoint ? pendingOutpoint : { number: order.outpointCount + 1, attestation: null }
  // The new submission gets a new watch. Earlier versions also recorded acknowledgements of the earlier submission.
  const acknowledged = order.acknowledged.filter((key) => !key.endsWith(` ${outpoint}`) && key !== WATCH_STOPPED)
  return {
    ...order,
    acknowledged,
    outpointCount: Math.max(order.outpointCount, number),
    pendingOutpoint: null,
    outpoint: {
      number,
      attempt,
      outpoint,
      attestation,
      hasLateAttestation: false,
      confirmation: null,
      defect: null,
      timesOpened: order.outpoint?.timesOpened ?? 0,
    },
  }
}

export const orderDecider: Decider<Order, EnrichedOrderCommand, OrderFact, OrderRefusal> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}
