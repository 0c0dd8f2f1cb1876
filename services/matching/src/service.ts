import { command } from '@penstock/kernel/process.ts'
import { channelContract } from '@penstock/contracts/channel.ts'
import {
  matchContract,
  offerContract,
  sellerContract,
  type MatchTarget,
  type OfferTarget,
  type SellerTarget,
} from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { createOrderBook } from '@penstock/market/order-book.ts'
import { defineAggregate, on, type Service, defineService } from '@penstock/runtime/service.ts'
import { enrichAttest, enrichFindSeller, enrichLapseSilence, type MatchingPorts } from './enrich.ts'
import { matchDecider } from './match.decide.ts'
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
        hashed: { version: 1, projections: { 1: (state) => ({ ...state, endedKeys: undefined }) } }, // ended keys are temporary
      }),
      defineAggregate({
        contract: sellerContract,
        decider: sellerDecider,
        hashed: { version: 1, projections: { 1: (state) => ({ ...state, countedOutcomes: undefined }) } },
        enrich: { Attest: enrichAttest, LapseSilence: enrichLapseSilence },
      }),
      defineAggregate({
        contract: matchContract,
        decider: matchDecider,
        hashed: { version: 1, projections: { 1: (state) => state } },
        enrich: { FindSeller: enrichFindSeller(book) },
        process: matchProcess,
      }),
    ],
    reactions: [...offerReactions, ...matchReactions, ...orderReactions, channelReaction],
    memoryViews: [{ name: 'book', from: [offerContract, sellerContract], apply: book.apply }],
    jobs: [watchLiveness(book)],
  })
}

const offerReactions = [
  on(offerContract, 'CapacityReserved', ({ orderId, attempt, round }, { aggregateId: offerId }) => [
    command<MatchTarget>('match', orderId, {
      type: 'RecordReservation',
      data: { attempt, round, offerId, granted: true, reason: null },
    }),
  ]),
  on(offerContract, 'ReservationRefused', ({ orderId, attempt, round, reason }, { aggregateId: offerId }) => [
    command<MatchTarget>('match', orderId, {
      type: 'RecordReservation',
      data: { attempt, round, offerId, granted: false, reason },
    }),
  ]),
]

const matchReactions = [
  on(matchContract, 'MatchReleased', ({ attempt, asked, reason }, { aggregateId: orderId }) =>
    asked
      ? [
          command<OfferTarget>('offer', asked.offerId, {
            type: 'ReleaseReservation',
            data: { orderId, attempt, round: asked.round, reason },
          }),
        ]
      : [],
  ),
  on(matchContract, 'MatchUsed', ({ attempt, asked }, { aggregateId: orderId }) => [
    command<OfferTarget>('offer', asked.offerId, { type: 'UseReservation', data: { orderId, attempt, round: asked.round } }),
    command<SellerTarget>('seller', asked.sellerPubkey, { type: 'RecordOutcome', data: { orderId, attempt, outcome: 'valid' } }),
  ]),
  on(matchContract, 'AttemptOutcomeRecorded', ({ attempt, sellerPubkey, outcome }, { aggregateId: orderId }) => [
    command<SellerTarget>('seller', sellerPubkey, { type: 'RecordOutcome', data: { orderId, attempt, outcome } }),
  ]),
]

/** The stream of a channel has the id of its order. */
const channelReaction = on(channelContract, 'PromiseBroken', ({ attempt }, { aggregateId: orderId }) => [
  command<MatchTarget>('match', orderId, { type: 'RecordAttemptOutcome', data: { attempt, outcome: 'promise-broken' } }),
])

/**
 * The outcome of an attempt reaches the seller's score through the match, which knows the seller. If no seller opened, each
 * attempt has already reported its own failure, so the end of the order adds no outcome.
 */
const orderReactions = [
  on(orderContract, 'OrderPlaced', ({ autoAccepted, candidate }, { aggregateId }) =>
    autoAccepted ? [] : [command<MatchTarget>('match', aggregateId, { type: 'RecordSellerQuoted', data: { candidate } })],
  ),
  on(orderContract, 'SellerRejected', (_, { aggregateId }) => [
    command<MatchTarget>('match', aggregateId, { type: 'RecordAttemptOutcome', data: { attempt: null, outcome: 'rejected' } }),
  ]),
  on(orderContract, 'SellerFailedToReact', (_, { aggregateId }) => [
    command<MatchTarget>('match', aggregateId, { type: 'RecordAttemptOutcome', data: { attempt: null, outcome: 'no-reaction' } }),
  ]),
  on(orderContract, 'AttemptFailed', ({ attempt, blamed }, { aggregateId }) =>
    blamed
      ? [
          command<MatchTarget>('match', aggregateId, {
            type: 'RecordAttemptOutcome',
            data: { attempt, outcome: 'failed-to-open' },
          }),
        ]
      : [],
  ),
  on(orderContract, 'SellerFailedToSendSwap', ({ attempt }, { aggregateId }) => [
    command<MatchTarget>('match', aggregateId, { type: 'RecordAttemptOutcome', data: { attempt, outcome: 'failed-to-send' } }),
  ]),
  on(orderContract, 'InvalidChannelOpening', ({ attempt, blamed }, { aggregateId }) =>
    blamed
      ? [command<MatchTarget>('match', aggregateId, { type: 'RecordAttemptOutcome', data: { attempt, outcome: 'invalid' } })]
      : [],
  ),
  on(orderContract, 'MonitoringFinished', ({ attempt, early, closedBy }, { aggregateId }) =>
    early && closedBy !== 'seller'
      ? []
      : [
          command<MatchTarget>('match', aggregateId, {
            type: 'RecordAttemptOutcome',
            data: { attempt, outcome: early ? 'closed-early' : 'lease-kept' },
          }),
        ],
  ),
]
