import { orderContract } from '@penstock/contracts/order.ts'
import { defineAggregate, defineService } from '@penstock/runtime/service.ts'
import { enrichAccept, type OrderPorts } from './enrich.ts'
import { fulfilment } from './fulfilment.ts'
import { notificationTypes } from './notifications.ts'
import { orderDecider } from './order.ts'
import { selectPayableInvoices } from './payout.ts'
import type { Order, PlacedOrder } from './state.ts'
import { reactionsToChannel } from './reactions/channel.ts'
import { reactionsToMatching } from './reactions/matching.ts'
import { reactionsToSettlement } from './reactions/settlement.ts'

export const orderService = defineService<OrderPorts>('order', {
  aggregates: [
    defineAggregate({
      contract: orderContract,
      decider: orderDecider,
      hashed: {
        version: 4,
        projections: { 1: withoutSuperseded, 2: withoutAttemptOutpoints, 3: withoutDefect, 4: (state: Order) => state },
      },
      enrich: { Accept: enrichAccept },
      process: fulfilment,
      sentUntilHandled: notificationTypes,
      follows: {
        OrderPlaced: ['LapseApproval'],
        SellerAccepted: ['settlement.IssueHold', 'LapseInvoice'],
        PaymentHeld: ['match.FindSeller'],
        AttemptStarted: ['settlement.CheckReach'],
        ChannelOpenRequested: ['LapseOpening'],
        UnreachableReported: ['settlement.CheckReach'],
        AttemptFailed: ['match.FindSeller', 'match.ReleaseMatch'],
        OutpointSubmitted: ['outpoint.ClaimOutpoint'],
        LateOutpointSubmitted: ['match.RenewReservation'],
        ReservationRenewedRecorded: ['outpoint.ClaimOutpoint'],
        OutpointClaimedRecorded: ['settlement.RegisterOutpoint'],
        OutpointRefused: ['LapseOpening', 'match.ReleaseMatch', 'settlement.RegisterOutpoint'],
        OutpointAccepted: ['channel.WatchOutpoint', 'match.ReleaseMatch'],
        AttestationGiven: ['settlement.RegisterOutpoint', 'channel.KeepAttestation'],
        ChannelOpened: ['settlement.SettleHold'],
        SettlingStarted: ['channel.WatchOutpoint'],
        OrderValid: ['match.UseMatch', 'channel.StartLease'],
        PayoutInvoiceSubmittedRecorded: ['settlement.SubmitPayoutInvoice'],
        ReleaseRequested: ['settlement.CancelHold', 'match.ReleaseMatch'],
        BuyerRejected: ['settlement.CancelHold', 'match.ReleaseMatch', 'channel.StopWatch'],
        BuyerFailedToPay: ['match.ReleaseMatch'],
        SellerRejected: ['match.ReleaseMatch'],
        SellerFailedToOpenChannel: ['match.ReleaseMatch', 'channel.StopWatch'],
        SellerFailedToSendSwap: ['match.ReleaseMatch', 'channel.StopWatch'],
        InvalidChannelOpening: ['match.ReleaseMatch', 'channel.StopWatch'],
        AdminClosed: ['settlement.CancelHold', 'match.ReleaseMatch', 'channel.StopWatch'],
      },
    }),
  ],
  reactions: [...reactionsToSettlement, ...reactionsToMatching, ...reactionsToChannel],
})

/** The part of the state that version 1 of the state hash covers: without superseded invoices. */
function withoutSuperseded(state: Order): unknown {
  return state.status === 'NONE'
    ? state
    : { ...placedWithoutAttemptOutpoints(state), payoutInvoices: selectPayableInvoices(state.payoutInvoices) }
}

/** The part of the state that version 2 of the state hash covers: without the outpoints and the window of each attempt. */
function withoutAttemptOutpoints(state: Order): unknown {
  return state.status === 'NONE' ? state : placedWithoutAttemptOutpoints(state)
}

/** The part of the state that version 3 of the state hash covers: without the defect of the accepted outpoint. */
function withoutDefect(state: Order): unknown {
  return state.status === 'NONE' ? state : placedWithoutDefect(state)
}

const placedWithoutDefect = (state: PlacedOrder) => ({
  ...state,
  outpoint: state.outpoint && { ...state.outpoint, defect: undefined },
})

const placedWithoutAttemptOutpoints = (state: PlacedOrder) => ({
  ...placedWithoutDefect(state),
  attempts: state.attempts.map((attempt) => ({ ...attempt, outpoints: undefined, window: undefined })),
})
