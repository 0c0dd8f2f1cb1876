import { channelContract } from '@penstock/contracts/channel.ts'
import { matchContract, offerContract, sellerContract } from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { createOrderBook } from '@penstock/market/order-book.ts'
import { defineAggregate, on, type Service, defineService } from '@penstock/runtime/service.ts'
import { enrichAttest, enrichFindSeller, enrichLapseSilence, type MatchingPorts } from './enrich.ts'
import { matchDecider } from './match.decide.ts'
import type { Match } from './match.ts'
import { matchProcess } from './match.process.ts'
import { offerDecider } from './offer.decide.ts'
import { sellerDecider } from './seller.ts'
import { watchLiveness } from './service/liveness.ts'

/** Creates the service with its own order book, so that two markets in one process share no state. */
export function matchingService(): Service<MatchingPorts> {
  const book = createOrderBook()
  return defineService<MatchingPorts>('matching', {
    aggregates: [
      defineAggregate({
        contract: offerContract,
        decider: offerDecider,
        hashed: {
          version: 2,
          projections: {
            1: (state) => ({ ...state, endedKeys: undefined, fundedKeys: undefined }),
            2: (state) => ({ ...state, endedKeys: undefined }), // ended keys are temporary
          },
        },
      }),
      defineAggregate({
        contract: sellerContract,
        decider: sellerDecider,
        hashed: { version: 1, projections: { 1: (state) => ({ ...state, countedOutcomes: undefined }) } },
        enrich: { Attest: enrichAttest(book), LapseSilence: enrichLapseSilence },
      }),
      defineAggregate({
        contract: matchContract,
        decider: matchDecider,
        hashed: { version: 2, projections: { 1: withoutFundings, 2: (state) => state } },
        enrich: { FindSeller: enrichFindSeller(book) },
        process: matchProcess,
        follows: {
          SearchBegun: ['offer.Reserve'],
          CandidateLost: ['offer.Reserve'],
          ReservationRenewalRequested: ['offer.Reserve'],
        },
      }),
    ],
    reactions: [...offerReactions, ...matchReactions, ...orderReactions, ...channelReactions],
    memoryViews: [{ name: 'book', from: [offerContract, sellerContract], apply: book.apply }],
    jobs: [watchLiveness(book)],
  })
}

/** The part of the state that version 1 of the state hash covers. */
const withoutFundings = ({ attempts, ...match }: Match): unknown => ({
  ...match,
  attempts: Object.fromEntries(
    Object.entries(attempts).map(([number, attempt]) => [number, { ...attempt, isFunded: undefined }]),
  ),
})

const offerReactions = [
  on(offerContract, 'CapacityReserved', 'match.RecordReservation', ({ orderId, attempt, round }, { aggregateId: offerId }) => [
    { id: orderId, data: { attempt, round, offerId, granted: true, reason: null } },
  ]),
  on(
    offerContract,
    'ReservationRefused',
    'match.RecordReservation',
    ({ orderId, attempt, round, reason }, { aggregateId: offerId }) => [
      { id: orderId, data: { attempt, round, offerId, granted: false, reason } },
    ],
  ),
]

const matchReactions = [
  on(matchContract, 'MatchReleased', 'offer.ReleaseReservation', ({ attempt, asked, reason }, { aggregateId: orderId }) =>
    asked ? [{ id: asked.offerId, data: { orderId, attempt, round: asked.round, reason } }] : [],
  ),
  on(matchContract, 'MatchUsed', 'offer.UseReservation', ({ attempt, asked }, { aggregateId: orderId }) => [
    { id: asked.offerId, data: { orderId, attempt, round: asked.round } },
  ]),
  on(matchContract, 'MatchFundingRecorded', 'offer.RecordFunding', ({ attempt, asked, seen }, { aggregateId: orderId }) => [
    { id: asked.offerId, data: { orderId, attempt, round: asked.round, seen } },
  ]),
  on(matchContract, 'MatchUsed', 'seller.RecordOutcome', ({ attempt, asked }, { aggregateId: orderId }) => [
    { id: asked.sellerPubkey, data: { orderId, attempt, outcome: 'valid' } },
  ]),
  on(
    matchContract,
    'AttemptOutcomeRecorded',
    'seller.RecordOutcome',
    ({ attempt, sellerPubkey, outcome }, { aggregateId: orderId }) => [{ id: sellerPubkey, data: { orderId, attempt, outcome } }],
  ),
]

/** The stream of a channel has the id of its order. */
const channelReactions = [
  on(channelContract, 'PromiseBroken', 'match.RecordAttemptOutcome', ({ attempt }, { aggregateId: orderId }) => [
    { id: orderId, data: { attempt, outcome: 'promise-broken' } },
  ]),
  // A later outpoint of the attempt replaces the funding that was seen.
  on(channelContract, 'WatchStarted', 'match.RecordFunding', ({ attempt, outpointNumber }, { aggregateId: orderId }) =>
    outpointNumber > 1 ? [{ id: orderId, data: { attempt, seen: false } }] : [],
  ),
  on(channelContract, 'FundingSeen', 'match.RecordFunding', ({ attempt }, { aggregateId: orderId }) =>
    attempt === undefined ? [] : [{ id: orderId, data: { attempt, seen: true } }],
  ),
  on(channelContract, 'FundingMissing', 'match.RecordFunding', ({ attempt }, { aggregateId: orderId }) =>
    attempt === undefined ? [] : [{ id: orderId, data: { attempt, seen: false } }],
  ),
]

/**
 * The outcome of an attempt reaches the seller's score through the match, which knows the seller. If no seller opened, each
 * attempt has already reported its own failure, so the end of the order adds no outcome.
 */
const orderReactions = [
  on(orderContract, 'OrderPlaced', 'match.RecordSellerQuoted', ({ autoAccepted, candidate }, { aggregateId }) =>
    autoAccepted ? [] : [{ id: aggregateId, data: { candidate } }],
  ),
  on(orderContract, 'SellerRejected', 'match.RecordAttemptOutcome', (_, { aggregateId }) => [
    { id: aggregateId, data: { attempt: null, outcome: 'rejected' } },
  ]),
  on(orderContract, 'SellerFailedToReact', 'match.RecordAttemptOutcome', (_, { aggregateId }) => [
    { id: aggregateId, data: { attempt: null, outcome: 'no-reaction' } },
  ]),
  on(orderContract, 'AttemptFailed', 'match.RecordAttemptOutcome', ({ attempt, blamed }, { aggregateId }) =>
    blamed ? [{ id: aggregateId, data: { attempt, outcome: 'failed-to-open' } }] : [],
  ),
  on(orderContract, 'SellerFailedToSendSwap', 'match.RecordAttemptOutcome', ({ attempt }, { aggregateId }) => [
    { id: aggregateId, data: { attempt, outcome: 'failed-to-send' } },
  ]),
  on(orderContract, 'InvalidChannelOpening', 'match.RecordAttemptOutcome', ({ attempt, blamed }, { aggregateId }) =>
    blamed ? [{ id: aggregateId, data: { attempt, outcome: 'invalid' } }] : [],
  ),
  on(orderContract, 'MonitoringFinished', 'match.RecordAttemptOutcome', ({ attempt, early, closedBy }, { aggregateId }) =>
    early && closedBy !== 'seller'
      ? []
      : [{ id: aggregateId, data: { attempt, outcome: early ? 'closed-early' : 'lease-kept' } }],
  ),
]
