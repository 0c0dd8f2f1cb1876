import { z } from 'zod'
import { defineContract, v1, v2, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { amount, candidate, destination, fundingFees, instant, noData, promises, pubkey, sentence, uuid } from './shapes.ts'

const offerCondition = z.strictObject({
  condition: z.enum(['NODE_CAPACITY', 'NODE_CHANNELS', 'NODE_SOCKETS', 'PARALLEL_CHANNELS']),
  operator: z.enum(['EQUAL', 'NOT_EQUAL', 'GREATER_THAN', 'GREATER_THAN_OR_EQUAL_TO', 'LESS_THAN', 'LESS_THAN_OR_EQUAL_TO']),
  value: z.string().max(64),
})

export const offerTerms = z.strictObject({
  totalSizeSat: amount,
  minSizeSat: amount,
  maxSizeSat: amount,
  promises,
  conditions: z.array(offerCondition).max(16),
  assetId: z.string().max(128).nullable(),
  /** Standing acceptance: the offer accepts orders automatically. */
  autoAccept: z.boolean(),
})
export type OfferTerms = z.output<typeof offerTerms>
/** The first version had three of the operators, with the same meaning as in the second. */
const upcastOperators = (old: object): object => old

const byAccount = z.strictObject({ by: uuid })
const byOperator = z.strictObject({ by: z.string(), reason: sentence })
const attempt = z.int().positive()
/** `round` counts from 0 and grows with each new request for a replaced seller's capacity. Each round is reserved once. */
const reservation = z.strictObject({ orderId: uuid, attempt, round: z.int().nonnegative() })

/** An offer with its reservations. All competing requests for its capacity are decided in this one stream. */
export const offerContract = defineContract('offer', 'matching', {
  isFollowedInMemory: true,
  relatedTo: { subject: 'order', isClaim: false, field: 'offerId' },
  facts: {
    OfferCreated: v2(offerTerms.extend({ accountId: uuid, pubkey }), upcastOperators),
    OfferUpdated: v2(offerTerms, upcastOperators),
    OfferEnabled: v1(z.strictObject({})),
    OfferDisabled: v1(z.strictObject({})),
    OfferDisabledByAdmin: v1(byOperator),
    OfferEnabledByAdmin: v1(byOperator),
    CapacityReserved: v1(reservation.extend({ sizeSat: amount, candidate })),
    ReservationRefused: v1(reservation.extend({ reason: sentence })),
    /** The size is 0 if the release came before its reservation, which is then never granted. */
    ReservationReleased: v1(reservation.extend({ sizeSat: amount, reason: sentence })),
    /** The channel is valid, so the offer loses its size permanently. */
    ReservationUsed: v1(reservation.extend({ sizeSat: amount })),
    /** `seen`: the network has the funding of the reserved channel. False after true: the funding is missing, or replaced. */
    ReservationFundingRecorded: v1(reservation.extend({ sizeSat: amount, seen: z.boolean() })),
  },
  commands: {
    CreateOffer: { ...v2(offerTerms.extend({ accountId: uuid, pubkey }), upcastOperators), from: ['gateway'] },
    /** Absent fields keep their values. */
    UpdateOffer: {
      ...v2(offerTerms.extend({ promises: promises.partial() }).partial().extend({ by: uuid }), upcastOperators),
      from: ['gateway'],
    },
    ToggleOffer: { ...v1(byAccount), from: ['gateway'] },
    DisableOffer: { ...v1(byOperator), from: ['gateway'] },
    EnableOffer: { ...v1(byOperator), from: ['gateway'] },
    /** `autoAccepted`: the seller has approved nothing, so the offer must still accept orders automatically. */
    Reserve: v1(reservation.extend({ sizeSat: amount, candidate, isPrivate: z.boolean(), autoAccepted: z.boolean() })),
    ReleaseReservation: v1(reservation.extend({ reason: sentence })),
    UseReservation: v1(reservation),
    RecordFunding: v1(reservation.extend({ seen: z.boolean() })),
  },
  records: {
    CreateOffer: ['OfferCreated'],
    UpdateOffer: ['OfferUpdated'],
    ToggleOffer: ['OfferEnabled', 'OfferDisabled'],
    DisableOffer: ['OfferDisabledByAdmin'],
    EnableOffer: ['OfferEnabledByAdmin'],
    Reserve: ['CapacityReserved', 'ReservationRefused'],
    ReleaseReservation: ['ReservationReleased'],
    UseReservation: ['ReservationUsed'],
    RecordFunding: ['ReservationFundingRecorded'],
  },
})
export type OfferFact = FactsOf<typeof offerContract>
export type OfferCommand = CommandsOf<typeof offerContract>
export type OfferTarget = TargetOf<typeof offerContract>

/** Reasons for the refusal of a command about an offer. A reason in lower case is the invalid field of the GraphQL input. */
export const offerRefusals = [
  'OFFER_NOT_FOUND',
  'OFFER_EXISTS',
  'OFFER_OF_ANOTHER',
  'OFFER_DISABLED_BY_OPERATOR',
  'total_size',
  'min_size',
  'max_size',
  'min_block_length',
  'fee_rate',
  'base_fee',
  'fee_rate_cap',
  'base_fee_cap',
  'onchain_multiplier',
  'conditions',
  'asset_id',
] as const
export type OfferRefusal = (typeof offerRefusals)[number]

export const sellerOutcome = z.enum([
  'valid',
  'no-reaction',
  'rejected',
  'failed-to-open',
  'failed-to-send',
  'invalid',
  'closed-early',
  'lease-kept',
  'promise-broken',
])

/** A seller's node: whether its agent is live, its funds, and the outcomes from which its score is computed. */
export const sellerContract = defineContract('seller', 'matching', {
  isFollowedInMemory: true,
  relatedTo: { subject: 'order', isClaim: false, field: 'sellerPubkey' },
  facts: {
    SellerAppeared: v1(z.strictObject({ accountId: uuid, confirmedSat: amount, at: instant })),
    FundsAttested: v1(z.strictObject({ confirmedSat: amount, at: instant })),
    SellerFellSilent: v1(z.strictObject({ lastSeenAt: instant })),
    OutcomeRecorded: v1(z.strictObject({ orderId: uuid, attempt, outcome: sellerOutcome, at: instant })),
    RailsGranted: v1(byOperator),
    RailsGrantRevoked: v1(byOperator),
  },
  commands: {
    Attest: {
      ...v1(z.strictObject({ accountId: uuid, pubkey, confirmedSat: amount, at: instant, signature: z.string().max(256) })),
      from: ['gateway'],
    },
    /** Sent by a watch of the heartbeats. A deadline would not move, because a heartbeat without a change adds no fact. */
    LapseSilence: v1(noData),
    RecordOutcome: v1(z.strictObject({ orderId: uuid, attempt, outcome: sellerOutcome })),
    GrantRails: { ...v1(byOperator), from: ['gateway'] },
    RevokeRails: { ...v1(byOperator), from: ['gateway'] },
  },
  records: {
    Attest: ['SellerAppeared', 'FundsAttested'],
    LapseSilence: ['SellerFellSilent'],
    RecordOutcome: ['OutcomeRecorded'],
    GrantRails: ['RailsGranted'],
    RevokeRails: ['RailsGrantRevoked'],
  },
})
export type SellerFact = FactsOf<typeof sellerContract>
export type SellerCommand = CommandsOf<typeof sellerContract>
export type SellerTarget = TargetOf<typeof sellerContract>

export const sellerRefusals = ['ATTESTATION_SIGNATURE', 'ATTESTATION_TIME', 'ATTESTATION_OLD', 'SELLER_NOT_FOUND'] as const
export type SellerRefusal = (typeof sellerRefusals)[number]

/** Requirements that a seller must meet for an order. No seller gets more than `sellerBudgetMsat`. */
export const orderRequirements = z.strictObject({
  sizeSat: amount,
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  leaseBlocks: z.int().positive(),
  sellerBudgetMsat: amount,
  /** The only nodes that may serve the order, because the buyer is connected to no other nodes; null: any node. */
  sellers: z.array(pubkey).nullable(),
  ranking: z.enum(['recommended', 'cheapest']),
})
export type OrderRequirements = z.output<typeof orderRequirements>

/** Counts an order's release requests for one attempt. Each request is recorded once. */
const requestNumber = z.int().positive()
/** The last release request before the seller's capacity is requested again. 0: from a version that did not count. */
const lastRequestNumber = z.int().nonnegative()
const addRequestNumber = (old: object): object => ({ ...old, requestNumber: 0 })
const requestedOffer = z.strictObject({ offerId: uuid, sellerPubkey: pubkey, round: z.int().nonnegative() })

const findSeller = z.strictObject({
  attempt,
  need: orderRequirements,
  first: candidate,
  only: z.boolean(),
  tried: z.array(uuid),
})

const search = z.strictObject({ attempt, need: orderRequirements, autoAccepted: z.boolean(), candidates: z.array(candidate) })

/** The search for an order's sellers, with one stream per order: the requested reservations and their results. */
export const matchContract = defineContract('match', 'matching', {
  correlates: 'order',
  facts: {
    /** The candidate that the buyer of a manual order saw. The order may end before a search starts. */
    SellerQuoted: v1(z.strictObject({ candidate })),
    /**
     * Candidates in the order in which they are tried. `autoAccepted`: the search covers offers that accept automatically.
     * `fundingFees` are the fees at that time. They determined the amounts of offers that charge for the funding.
     */
    SearchBegun: v2(search.extend({ fundingFees }), (old: z.output<typeof search>) => ({ ...old, fundingFees: null })),
    CandidateLost: v1(z.strictObject({ attempt, offerId: uuid, reason: sentence })),
    Matched: v1(z.strictObject({ attempt, candidate })),
    Unmatched: v1(z.strictObject({ attempt, reason: sentence })),
    /** A replaced seller's capacity is requested again. */
    ReservationRenewalRequested: v2(
      z.strictObject({ attempt, round: z.int().positive(), requestNumber: lastRequestNumber }),
      addRequestNumber,
    ),
    ReservationRenewed: v2(z.strictObject({ attempt, requestNumber: lastRequestNumber }), addRequestNumber),
    ReservationRenewalRefused: v1(z.strictObject({ attempt, reason: sentence })),
    /** `asked` is the reservation to release; null if there is no reservation yet, or if it was released before. */
    MatchReleased: v1(z.strictObject({ attempt, requestNumber, asked: requestedOffer.nullable(), reason: sentence })),
    MatchUsed: v1(z.strictObject({ attempt, asked: requestedOffer })),
    MatchFundingRecorded: v1(z.strictObject({ attempt, asked: requestedOffer, seen: z.boolean() })),
    /** The outcome of a seller's attempt. Matching passes it on to the seller's score. */
    AttemptOutcomeRecorded: v1(z.strictObject({ attempt, sellerPubkey: pubkey, outcome: sellerOutcome })),
  },
  commands: {
    RecordSellerQuoted: v1(z.strictObject({ candidate })),
    /**
     * `first`: the candidate that the buyer saw, which is tried first. `only`: the order is manual, so it has no other offer.
     * `autoAccepted`: the seller has approved nothing. In the first version, the seller had approved every manual order.
     */
    FindSeller: {
      ...v2(findSeller.extend({ autoAccepted: z.boolean() }), (old: z.output<typeof findSeller>) => ({
        ...old,
        autoAccepted: !old.only,
      })),
      from: ['order'],
    },
    RecordReservation: v1(
      reservation.omit({ orderId: true }).extend({ offerId: uuid, granted: z.boolean(), reason: sentence.nullable() }),
    ),
    RenewReservation: { ...v2(z.strictObject({ attempt, requestNumber: lastRequestNumber }), addRequestNumber), from: ['order'] },
    ReleaseMatch: { ...v1(z.strictObject({ attempt, requestNumber, reason: sentence })), from: ['order'] },
    UseMatch: { ...v1(z.strictObject({ attempt })), from: ['order'] },
    /** `seen`: whether the network has the funding that the attempt's seller published. */
    RecordFunding: v1(z.strictObject({ attempt, seen: z.boolean() })),
    /** `attempt` is null if the buyer only saw the seller and no search has started. */
    RecordAttemptOutcome: v1(z.strictObject({ attempt: attempt.nullable(), outcome: sellerOutcome })),
  },
  records: {
    RecordSellerQuoted: ['SellerQuoted'],
    FindSeller: ['SearchBegun', 'Unmatched'],
    RecordReservation: ['CandidateLost', 'Matched', 'Unmatched', 'ReservationRenewed', 'ReservationRenewalRefused'],
    RenewReservation: ['ReservationRenewalRequested', 'ReservationRenewed', 'ReservationRenewalRefused'],
    ReleaseMatch: ['MatchReleased'],
    UseMatch: ['MatchUsed'],
    RecordFunding: ['MatchFundingRecorded'],
    RecordAttemptOutcome: ['AttemptOutcomeRecorded'],
  },
})
export type MatchFact = FactsOf<typeof matchContract>
export type MatchCommand = CommandsOf<typeof matchContract>
export type MatchTarget = TargetOf<typeof matchContract>
