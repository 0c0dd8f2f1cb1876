import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { evolveAttempts } from './attempt.ts'
import { decide, type OrderCommand } from './order.decide.ts'
import { orderMachine } from './order.machine.ts'
import { evolvePayouts } from './payout.ts'
import type { OrderRefusal } from './refusal.ts'
import {
  type Named,
  type Offered,
  type Order,
  type OrderStatus,
  type Placed,
  outpointKey,
  searching,
  toldKey,
  WATCH_STOPPED,
} from './state.ts'

export const orderLifecycle = compile<OrderStatus, OrderFact['type']>(orderMachine)

function evolve(order: Order, fact: OrderFact): Order {
  const status = orderLifecycle.after(order.status, fact.type)
  if (!status || status === 'NONE') throw new Bug(`${fact.type} cannot follow ${order.status}`)
  const before = order.status === 'NONE' ? placed(fact) : order
  const after: Placed = {
    ...evolvePlaced(before, fact),
    status,
    attempts: evolveAttempts(before.attempts, fact),
    payouts: evolvePayouts(before, fact),
  }
  const searched = searching(after) ?? 0
  return searched > after.searched ? { ...after, searched } : after
}

function placed({ type, data }: OrderFact): Placed {
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
    looks: 0,
    reported: null,
    searched: 0,
    unmatched: null,
    offers: 0,
    offered: null,
    claims: [],
    refused: [],
    named: null,
    closing: null,
    ending: null,
    payouts: [],
    payoutNews: [],
    told: [],
    late: [],
  }
}

/** All that is kept beside status, attempts and payouts. */
function evolvePlaced(order: Placed, fact: OrderFact): Placed {
  const { type, data } = fact
  switch (type) {
    case 'SellerAccepted':
      return { ...order, hold: 'asked' }
    case 'HoldIssued':
      return { ...order, hold: 'issued' }
    case 'PaymentHeld':
      return { ...order, hold: 'held', openBeforeHeight: data.openBeforeHeight, heldAtHeight: data.heldAtHeight }
    case 'OutpointOffered':
    case 'LateOutpointOffered':
    case 'CapacityRereserved':
    case 'OutpointClaimed':
    case 'OutpointRefused':
    case 'AttestationGiven':
    case 'OutpointNamed':
      return evolveOutpoint(order, fact)
    case 'FundingConfirmed':
    case 'FundingReorged':
    case 'ChannelFoundWrong':
    case 'ChannelOpened':
      return { ...order, named: order.named && evolveFunding(order.named, fact) }
    case 'SearchFailed':
      return { ...order, unmatched: data }
    case 'ReleaseRequested':
      return { ...order, closing: data }
    case 'SettlingStarted':
      return { ...order, hold: 'settling', closing: null, offered: null }
    case 'OrderValid':
      return { ...order, hold: 'settled' }
    case 'Told':
      return { ...order, told: [...order.told, toldKey(data)], ...(data.what === 'hold-closed' && { hold: 'closed' as const }) }
    case 'PayoutNoted':
      return { ...order, payoutNews: [...order.payoutNews, `${data.what} ${data.detail ?? ''}`] }
    case 'LateNoted':
      return { ...order, late: [...order.late, data.what] }
    case 'SellerRejected':
    case 'SellerFailedToReact':
    case 'BuyerRejected':
    case 'BuyerFailedToPay':
    case 'SellerFailedToOpenChannel':
    case 'SellerFailedToSendSwap':
    case 'InvalidChannelOpening':
    case 'AdminClosed':
      return ended(order, data.reason)
    case 'AttemptStarted':
    case 'UnreachableReported':
    case 'AttemptFailed':
      return evolveLooks(order, fact)
    case 'OrderPlaced':
    case 'OpeningAsked':
    case 'FundingSeen':
    case 'MonitoringFinished':
    case 'PayoutInvoiceOffered':
    case 'PayoutInvoiceTaken':
    case 'PayoutInvoiceRefused':
      return order
  }
}

type FundingFact = Extract<OrderFact, { type: 'FundingConfirmed' | 'FundingReorged' | 'ChannelFoundWrong' | 'ChannelOpened' }>

/** What its watch tells of the named outpoint. */
function evolveFunding(named: Named, { type, data }: FundingFact): Named {
  switch (type) {
    case 'FundingConfirmed':
      return { ...named, confirmed: { height: data.height, channelId: data.channelId } }
    case 'FundingReorged':
      return { ...named, confirmed: null }
    case 'ChannelFoundWrong':
      return { ...named, wrong: { reason: data.reason, blamed: data.blamed } }
    case 'ChannelOpened':
      return { ...named, openings: named.openings + 1 }
  }
}

type LookFact = Extract<OrderFact, { type: 'AttemptStarted' | 'UnreachableReported' | 'AttemptFailed' }>

function evolveLooks(order: Placed, { type, data }: LookFact): Placed {
  if (type === 'AttemptFailed') return order.reported === data.attempt ? { ...order, reported: null } : order
  return { ...order, looks: order.looks + 1, reported: type === 'UnreachableReported' ? data.attempt : null }
}

// An invoice that was issued is closed by now: an ending comes only after the node confirmed it. One that was only asked
// for may still arrive, and is cancelled then.
const ended = (order: Placed, reason: string): Placed => ({
  ...order,
  ending: reason,
  closing: null,
  offered: null,
  hold: order.hold === 'none' || order.hold === 'asked' ? order.hold : 'closed',
})

type OutpointFact = Extract<
  OrderFact,
  {
    type:
      | 'OutpointOffered'
      | 'LateOutpointOffered'
      | 'CapacityRereserved'
      | 'OutpointClaimed'
      | 'OutpointRefused'
      | 'AttestationGiven'
      | 'OutpointNamed'
  }
>

function evolveOutpoint(order: Placed, { type, data }: OutpointFact): Placed {
  const { offered, named } = order
  switch (type) {
    case 'OutpointOffered':
      // Whoever names an outpoint has reached the buyer's node after all.
      return offer({ ...order, reported: null }, { number: order.offers + 1, ...data, stage: 'claiming' })
    case 'LateOutpointOffered': {
      const told = order.told.filter((key) => key !== `match-released ${data.attempt}`)
      return offer({ ...order, told }, { number: order.offers + 1, ...data, stage: 'rereserving' })
    }
    case 'CapacityRereserved':
      return { ...order, offered: offered && { ...offered, stage: 'claiming' } }
    case 'OutpointClaimed':
      return { ...order, claims: [...order.claims, outpointKey(data)], offered: offered && { ...offered, stage: 'noting' } }
    case 'OutpointRefused':
      return { ...order, offered: null, refused: [...order.refused, data] }
    case 'AttestationGiven':
      return offered?.outpoint === data.outpoint
        ? { ...order, offered: { ...offered, attestation: data.attestation } }
        : { ...order, named: named && { ...named, attestation: data.attestation, isAttestedSince: true } }
    case 'OutpointNamed':
      return name(order, data.outpoint, data.attempt)
  }
}

const offer = (order: Placed, offered: Offered): Placed => ({ ...order, offers: offered.number, offered })

function name(order: Placed, outpoint: string, attempt: number): Placed {
  const { offered } = order
  const { number, attestation } = offered?.outpoint === outpoint ? offered : { number: order.offers + 1, attestation: null }
  // Whoever was told of this outpoint the last time it was named is told again.
  const told = order.told.filter((key) => !key.endsWith(` ${outpoint}`) && key !== WATCH_STOPPED)
  return {
    ...order,
    told,
    offers: Math.max(order.offers, number),
    offered: null,
    named: {
      number,
      attempt,
      outpoint,
      attestation,
      isAttestedSince: false,
      confirmed: null,
      wrong: null,
      openings: order.named?.openings ?? 0,
    },
  }
}

export const order: Decider<Order, OrderCommand, OrderFact, OrderRefusal> = { initial: { status: 'NONE' }, evolve, decide }
