import { channel } from '@penstock/contracts/channel.ts'
import { match as matchContract, offer as offerContract, seller as sellerContract } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import { bookView } from '@penstock/market/book.ts'
import { aggregate, ask, on, type Service, service } from '@penstock/runtime/service.ts'
import { attest, findSeller, lapseSilence, type MatchingPorts } from './enrich.ts'
import { match } from './match.decide.ts'
import { searching } from './match.process.ts'
import { offer } from './offer.decide.ts'
import { seller } from './seller.ts'
import { watchLiveness } from './service/liveness.ts'

/** A service with a book of its own, so that two markets in one process share nothing. */
export function matching(): Service<MatchingPorts> {
  const book = bookView()
  return service<MatchingPorts>('matching', {
    aggregates: [
      aggregate({
        contract: offerContract,
        decider: offer,
        hashed: { version: 1, of: { 1: (state) => ({ ...state, over: undefined }) } }, // what is over is remembered for a while only
      }),
      aggregate({
        contract: sellerContract,
        decider: seller,
        hashed: { version: 1, of: { 1: (state) => ({ ...state, counted: undefined }) } },
        enrich: { Attest: attest, LapseSilence: lapseSilence },
      }),
      aggregate({
        contract: matchContract,
        decider: match,
        hashed: { version: 1, of: { 1: (state) => state } },
        enrich: { FindSeller: findSeller(book) },
        process: searching,
      }),
    ],
    reactions: [...ofOffers, ...ofMatches, ...ofOrders, ofChannels],
    memory: [{ name: 'book', from: [offerContract, sellerContract], apply: book.apply }],
    jobs: [watchLiveness(book)],
  })
}

const ofOffers = [
  on(offerContract, 'CapacityReserved', ({ orderId, attempt, round }, { aggregateId: offerId }) => [
    ask(matchContract, orderId, 'RecordReservation', { attempt, round, offerId, granted: true, reason: null }),
  ]),
  on(offerContract, 'ReservationRefused', ({ orderId, attempt, round, reason }, { aggregateId: offerId }) => [
    ask(matchContract, orderId, 'RecordReservation', { attempt, round, offerId, granted: false, reason }),
  ]),
]

const ofMatches = [
  on(matchContract, 'MatchReleased', ({ attempt, asked, reason }, { aggregateId: orderId }) =>
    asked ? [ask(offerContract, asked.offerId, 'ReleaseReservation', { orderId, attempt, round: asked.round, reason })] : [],
  ),
  on(matchContract, 'MatchUsed', ({ attempt, asked }, { aggregateId: orderId }) => [
    ask(offerContract, asked.offerId, 'UseReservation', { orderId, attempt, round: asked.round }),
    ask(sellerContract, asked.sellerPubkey, 'RecordOutcome', { orderId, attempt, outcome: 'valid' }),
  ]),
  on(matchContract, 'OutcomeNoted', ({ attempt, sellerPubkey, outcome }, { aggregateId: orderId }) => [
    ask(sellerContract, sellerPubkey, 'RecordOutcome', { orderId, attempt, outcome }),
  ]),
]

/** The stream of a watch has the order's id. */
const ofChannels = on(channel, 'PromiseBroken', ({ attempt }, { aggregateId: orderId }) => [
  ask(matchContract, orderId, 'NoteOutcome', { attempt, outcome: 'promise-broken' }),
])

/**
 * What became of an attempt goes to its seller's score by way of the match, which knows the seller. An order that ends
 * because nobody opened says so of each attempt before, so that its end adds nothing.
 */
const ofOrders = [
  on(order, 'OrderPlaced', ({ standing, candidate }, { aggregateId }) =>
    standing ? [] : [ask(matchContract, aggregateId, 'NoteShown', { candidate })],
  ),
  on(order, 'SellerRejected', (_, { aggregateId }) => [
    ask(matchContract, aggregateId, 'NoteOutcome', { attempt: null, outcome: 'rejected' }),
  ]),
  on(order, 'SellerFailedToReact', (_, { aggregateId }) => [
    ask(matchContract, aggregateId, 'NoteOutcome', { attempt: null, outcome: 'no-reaction' }),
  ]),
  on(order, 'AttemptFailed', ({ attempt, blamed }, { aggregateId }) =>
    blamed ? [ask(matchContract, aggregateId, 'NoteOutcome', { attempt, outcome: 'failed-to-open' })] : [],
  ),
  on(order, 'SellerFailedToSendSwap', ({ attempt }, { aggregateId }) => [
    ask(matchContract, aggregateId, 'NoteOutcome', { attempt, outcome: 'failed-to-send' }),
  ]),
  on(order, 'InvalidChannelOpening', ({ attempt, blamed }, { aggregateId }) =>
    blamed ? [ask(matchContract, aggregateId, 'NoteOutcome', { attempt, outcome: 'invalid' })] : [],
  ),
  on(order, 'MonitoringFinished', ({ attempt, early, closedBy }, { aggregateId }) =>
    early && closedBy !== 'seller'
      ? []
      : [ask(matchContract, aggregateId, 'NoteOutcome', { attempt, outcome: early ? 'closed-early' : 'lease-kept' })],
  ),
]
