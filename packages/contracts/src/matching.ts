import { z } from 'zod'
import { contract, v1, v2, type CommandsOf, type FactsOf } from './define.ts'
import { amount, candidate, destination, fundingFees, instant, none, promises, pubkey, sentence, uuid } from './shapes.ts'

const offerCondition = z.strictObject({
  condition: z.enum(['NODE_CAPACITY', 'NODE_CHANNELS', 'NODE_SOCKETS', 'PARALLEL_CHANNELS']),
  operator: z.enum(['LESS_THAN', 'GREATER_THAN', 'EQUAL']),
  value: z.string().max(64),
})

export const offerTerms = z.strictObject({
  totalSizeSat: amount,
  minSizeSat: amount,
  maxSizeSat: amount,
  promises,
  conditions: z.array(offerCondition).max(16),
  assetId: z.string().max(128).nullable(),
  /** Standing acceptance: orders need not be asked. */
  autoAccept: z.boolean(),
})
export type OfferTerms = z.output<typeof offerTerms>

const byAccount = z.strictObject({ by: uuid })
const byOperator = z.strictObject({ by: z.string(), reason: sentence })
const attempt = z.int().positive()
/** `round` counts from 0 and grows when a replaced seller's capacity is asked for once more: a round is reserved once. */
const reservation = z.strictObject({ orderId: uuid, attempt, round: z.int().nonnegative() })

/** An offer with its reservations: contention for capacity lives in this one stream. */
export const offer = contract('offer', 'matching', {
  facts: {
    OfferCreated: v1(offerTerms.extend({ accountId: uuid, pubkey })),
    OfferUpdated: v1(offerTerms),
    OfferEnabled: v1(z.strictObject({})),
    OfferDisabled: v1(z.strictObject({})),
    OfferDisabledByAdmin: v1(byOperator),
    OfferEnabledByAdmin: v1(byOperator),
    CapacityReserved: v1(reservation.extend({ sizeSat: amount, candidate })),
    ReservationRefused: v1(reservation.extend({ reason: sentence })),
    /** Of size 0 where the release came before its reservation, which is then never granted. */
    ReservationReleased: v1(reservation.extend({ sizeSat: amount, reason: sentence })),
    /** The channel is valid: its size has left the offer for good. */
    ReservationUsed: v1(reservation.extend({ sizeSat: amount })),
  },
  commands: {
    CreateOffer: v1(offerTerms.extend({ accountId: uuid, pubkey })),
    /** What is left out stays as it is. */
    UpdateOffer: v1(offerTerms.extend({ promises: promises.partial() }).partial().extend({ by: uuid })),
    ToggleOffer: v1(byAccount),
    DisableOffer: v1(byOperator),
    EnableOffer: v1(byOperator),
    /** `standing`: nobody was asked, so the offer must still accept orders by itself. */
    Reserve: v1(reservation.extend({ sizeSat: amount, candidate, isPrivate: z.boolean(), standing: z.boolean() })),
    ReleaseReservation: v1(reservation.extend({ reason: sentence })),
    UseReservation: v1(reservation),
  },
  fromOthers: ['CreateOffer', 'UpdateOffer', 'ToggleOffer', 'DisableOffer', 'EnableOffer'],
})
export type OfferFact = FactsOf<typeof offer>
export type OfferCommand = CommandsOf<typeof offer>

/** Why a command about an offer is refused. Those in small letters name the field of the GraphQL input that is wrong. */
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

/** A seller's node: whether its agent is live, what it can fund, and what its score is folded from. */
export const seller = contract('seller', 'matching', {
  facts: {
    SellerAppeared: v1(z.strictObject({ accountId: uuid, confirmedSat: amount, at: instant })),
    FundsAttested: v1(z.strictObject({ confirmedSat: amount, at: instant })),
    SellerFellSilent: v1(z.strictObject({ lastSeenAt: instant })),
    OutcomeRecorded: v1(z.strictObject({ orderId: uuid, attempt, outcome: sellerOutcome, at: instant })),
    RailsGranted: v1(byOperator),
    RailsGrantRevoked: v1(byOperator),
  },
  commands: {
    Attest: v1(z.strictObject({ accountId: uuid, pubkey, confirmedSat: amount, at: instant, signature: z.string().max(256) })),
    /** Sent by a watch, not by a deadline: a heartbeat that changes nothing is no fact, and so moves no deadline. */
    LapseSilence: v1(none),
    RecordOutcome: v1(z.strictObject({ orderId: uuid, attempt, outcome: sellerOutcome })),
    GrantRails: v1(byOperator),
    RevokeRails: v1(byOperator),
  },
  fromOthers: ['Attest', 'GrantRails', 'RevokeRails'],
})
export type SellerFact = FactsOf<typeof seller>
export type SellerCommand = CommandsOf<typeof seller>

export const sellerRefusals = ['ATTESTATION_SIGNATURE', 'ATTESTATION_TIME', 'ATTESTATION_OLD', 'SELLER_NOT_FOUND'] as const
export type SellerRefusal = (typeof sellerRefusals)[number]

/** What a seller must be able to do for an order. The buyer pays `sellerBudgetMsat` at most, whoever serves. */
export const need = z.strictObject({
  sizeSat: amount,
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  leaseBlocks: z.int().positive(),
  sellerBudgetMsat: amount,
  /** The only nodes that may serve, since the buyer is connected to no others; null: any. */
  sellers: z.array(pubkey).nullable(),
  ranking: z.enum(['recommended', 'cheapest']),
})
export type Need = z.output<typeof need>

/** Counts how often an order asked for the release of one attempt: each question is answered once. */
const question = z.int().positive()
/** The last release that was asked for before the seller's capacity is asked for once more. 0: told by a version that did not count. */
const lastAsked = z.int().nonnegative()
const uncounted = (old: object): object => ({ ...old, question: 0 })
const asked = z.strictObject({ offerId: uuid, sellerPubkey: pubkey, round: z.int().nonnegative() })

const search = z.strictObject({ attempt, need, standing: z.boolean(), candidates: z.array(candidate) })

/** The search for an order's sellers, one stream an order: who was asked, who had the capacity. */
export const match = contract('match', 'matching', {
  facts: {
    /** Who was shown to the buyer of a manual order, which may end before anybody is searched for. */
    SellerShown: v1(z.strictObject({ candidate })),
    /**
     * Candidates in the order in which they are asked. `standing`: offers that accept by themselves are searched. With what
     * a funding costs just then, by which the amounts of those that charge for it were found.
     */
    SearchBegun: v2(search.extend({ fundingFees }), (old: z.output<typeof search>) => ({ ...old, fundingFees: null })),
    CandidateLost: v1(z.strictObject({ attempt, offerId: uuid, reason: sentence })),
    Matched: v1(z.strictObject({ attempt, candidate })),
    Unmatched: v1(z.strictObject({ attempt, reason: sentence })),
    /** A replaced seller's capacity is asked for once more. */
    RereservationAsked: v2(z.strictObject({ attempt, round: z.int().positive(), question: lastAsked }), uncounted),
    Rereserved: v2(z.strictObject({ attempt, question: lastAsked }), uncounted),
    RereservationRefused: v1(z.strictObject({ attempt, reason: sentence })),
    /** `asked` is what the offer is to give back; null where no offer was asked yet, or where it was given back before. */
    MatchReleased: v1(z.strictObject({ attempt, question, asked: asked.nullable(), reason: sentence })),
    MatchUsed: v1(z.strictObject({ attempt, asked })),
    /** What came of a seller's attempt, on its way to the seller's score. */
    OutcomeNoted: v1(z.strictObject({ attempt, sellerPubkey: pubkey, outcome: sellerOutcome })),
  },
  commands: {
    NoteShown: v1(z.strictObject({ candidate })),
    /** `first`: the candidate that the buyer was shown, tried before all others. `only`: a manual order names its offer. */
    FindSeller: v1(z.strictObject({ attempt, need, first: candidate, only: z.boolean(), tried: z.array(uuid) })),
    RecordReservation: v1(
      reservation.omit({ orderId: true }).extend({ offerId: uuid, granted: z.boolean(), reason: sentence.nullable() }),
    ),
    Rereserve: v2(z.strictObject({ attempt, question: lastAsked }), uncounted),
    ReleaseMatch: v1(z.strictObject({ attempt, question, reason: sentence })),
    UseMatch: v1(z.strictObject({ attempt })),
    /** `attempt` null: the seller was shown to the buyer, and nobody was searched for yet. */
    NoteOutcome: v1(z.strictObject({ attempt: attempt.nullable(), outcome: sellerOutcome })),
  },
  fromOthers: ['FindSeller', 'Rereserve', 'ReleaseMatch', 'UseMatch'],
})
export type MatchFact = FactsOf<typeof match>
export type MatchCommand = CommandsOf<typeof match>
