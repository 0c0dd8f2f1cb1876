import { z } from 'zod'
import { contract, v1, v2, v3, v4, type CommandsOf, type FactsOf } from './define.ts'
import { cancelReason, channelVerdict } from './settlement.ts'
import {
  amount,
  attestation,
  candidate,
  destination,
  hash,
  height,
  instant,
  naming,
  namingWindow,
  notTooLate,
  outpoint,
  policy,
  pubkey,
  rate,
  sentence,
  unnumbered,
  uuid,
  withoutWindow,
} from './shapes.ts'

/** Where an order came from decides who may look at it and how its sellers are ranked. */
export const orderSource = z.enum(['buy', 'lsps1-recommended', 'lsps1-cheapest', 'manual', 'subscription'])

/** Where a text of a person stands: the record's id and a salted hash, never the text. */
const personsText = z.strictObject({ id: uuid, hash })

/** What an LSPS1 client asked for, mirrored in every answer; its token is in the order's record. */
export const lspsRequest = z.strictObject({
  lspBalanceSat: amount,
  clientBalanceSat: amount,
  requiredChannelConfirmations: z.int(),
  fundingConfirmsWithinBlocks: z.int(),
  channelExpiryBlocks: z.int(),
  announceChannel: z.boolean(),
})

export const orderTerms = z.strictObject({
  source: orderSource,
  buyer: z.strictObject({
    accountId: uuid,
    /** The hash of a key that comes with this order: 'session' opens an identity of its own, 'order' reads this order only. */
    key: z.strictObject({ kind: z.enum(['session', 'order']), hash: z.string() }).nullable(),
  }),
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  /** The only nodes that may serve, since the buyer is connected to no others; null: any. */
  sellers: z.array(pubkey).nullable(),
  usdCents: amount.nullable(),
  sizeSat: amount,
  /** The amount of the hold invoice. */
  priceSat: amount,
  platformFeeMsat: amount,
  /** What the platform keeps at least: a dearer seller that steps in may have the rest of its fee. */
  leastPlatformFeeMsat: amount,
  leaseBlocks: z.int().positive(),
  requiredConfirmations: z.int().positive(),
  rate: rate.nullable(),
  lsps: lspsRequest.nullable(),
  /** Redirect URL, referrer, or the token of LSPS1. */
  record: personsText.nullable(),
  candidate,
  /** The seller's offer accepts orders without being asked. */
  standing: z.boolean(),
  policy,
})
export type OrderTerms = z.output<typeof orderTerms>

/** Why a seller gives up its turn, where it says so in a word. Only the first is looked into before the seller is blamed. */
export const cancellationReason = z.enum(['UNABLE_TO_CONNECT_TO_NODE', 'UNABLE_TO_PAY', 'CHANNEL_SIZE_OUT_OF_BOUNDS'])
export type CancellationReason = z.output<typeof cancellationReason>

export const releaseTo = z.enum([
  'SELLER_REJECTED',
  'BUYER_REJECTED',
  'BUYER_FAILED_TO_PAY',
  'SELLER_FAILED_TO_OPEN_CHANNEL',
  'SELLER_FAILED_TO_SEND_SWAP',
  'INVALID_CHANNEL_OPENING',
  'ADMIN_CLOSED',
])
export type ReleaseTo = z.output<typeof releaseTo>

const attempt = z.int().positive()
const why = z.strictObject({ reason: sentence })
const payoutNews = z.enum(['paid', 'failed', 'withheld'])
/** `key` says which one: an attempt's number, or an outpoint. */
const told = z.strictObject({
  what: z.enum([
    'match-released',
    'match-used',
    'watch-started',
    'watch-stopped',
    'attestation-noted',
    'attestation-kept',
    'lease-started',
    'hold-closed',
  ]),
  key: z.string().max(100),
})
const fundingFailure = z.enum(['never-seen', 'vanished', 'double-spent', 'unconfirmed'])

/** A channel that was not as sold was always its seller's fault. */
const blamedThen = (old: object) => ({ ...old, blamed: true })

export const order = contract('order', 'order', {
  facts: {
    /** `approveBefore`: until when the seller may answer; null where its acceptance stands. */
    OrderPlaced: v1(orderTerms.extend({ approveBefore: instant.nullable() })),
    SellerAccepted: v1(z.strictObject({ by: uuid, standing: z.boolean() })),
    HoldIssued: v1(z.strictObject({ paymentHash: hash, invoice: z.string(), expiresAt: instant })),
    PaymentHeld: v1(
      z.strictObject({ expiryHeight: height, heldAtHeight: height, receivedMsat: amount, openBeforeHeight: height }),
    ),
    /** No seller has the capacity; a late outpoint that is being looked at may still save the order. */
    SearchFailed: v1(z.strictObject({ attempt, reason: sentence })),
    /** Capacity is reserved; the seller is asked once the buyer's node was reached. */
    AttemptStarted: v1(z.strictObject({ attempt, candidate })),
    OpeningAsked: v1(z.strictObject({ attempt, openBefore: instant })),
    /** The seller cannot connect to the buyer's node: our own tries it once more before anybody is blamed. */
    UnreachableReported: v1(z.strictObject({ attempt, reason: sentence })),
    AttemptFailed: v1(z.strictObject({ attempt, reason: sentence, blamed: z.boolean() })),
    OutpointOffered: v1(z.strictObject({ attempt, outpoint, attestation: attestation.nullable() })),
    OutpointRefused: v1(z.strictObject({ attempt, outpoint, reason: sentence })),
    /** A replaced seller names after all: its capacity has to be reserved again before that counts. */
    LateOutpointOffered: v1(z.strictObject({ attempt, outpoint, attestation: attestation.nullable() })),
    /** The replaced seller's capacity is reserved once more. */
    CapacityRereserved: v1(z.strictObject({ attempt, outpoint })),
    /** The outpoint serves this order and no other; settlement is asked to note it. */
    OutpointClaimed: v1(z.strictObject({ attempt, outpoint })),
    /** `window`: of the attempt's first naming. */
    OutpointNamed: v2(z.strictObject({ attempt, outpoint, window: namingWindow.optional() }), withoutWindow),
    AttestationGiven: v1(z.strictObject({ attempt, outpoint, attestation })),
    FundingSeen: v1(z.strictObject({ outpoint })),
    FundingConfirmed: v1(z.strictObject({ outpoint, height, channelId: z.string() })),
    FundingReorged: v1(z.strictObject({ outpoint })),
    /** While another outpoint was being recorded: it counts where that one is refused, and goes where it takes its place. */
    ChannelFoundWrong: v1(z.strictObject({ outpoint, reason: sentence, blamed: z.boolean() })),
    ChannelOpened: v1(z.strictObject({ outpoint, confirmations: z.int().nonnegative() })),
    /** Settlement takes the money: from here on nothing can close the order. */
    SettlingStarted: v1(z.strictObject({ outpoint, lastHeight: z.boolean() })),
    /** The order is closing; `by` is the operator who closes it. */
    ReleaseRequested: v1(z.strictObject({ to: releaseTo, reason: sentence, blamed: z.boolean(), by: z.string().nullable() })),
    OrderValid: v1(z.strictObject({ settledAt: instant })),
    /** `attempt`: whose channel it was. */
    MonitoringFinished: v1(
      z.strictObject({ attempt, early: z.boolean(), closedBy: z.enum(['seller', 'buyer', 'unknown']).nullable() }),
    ),
    /** `record`: what the seller wrote to it. */
    SellerRejected: v1(z.strictObject({ reason: sentence, record: personsText.nullable() })),
    SellerFailedToReact: v1(why),
    BuyerRejected: v1(why),
    BuyerFailedToPay: v1(why),
    SellerFailedToOpenChannel: v1(z.strictObject({ reason: sentence, blamed: z.boolean(), lastHeight: z.boolean() })),
    /** `attempt`: whose outpoint it was, here and in the next one. */
    SellerFailedToSendSwap: v1(z.strictObject({ attempt, reason: sentence, lastHeight: z.boolean() })),
    /** Where the output was spent and nobody knows by whom, the seller is not blamed. */
    InvalidChannelOpening: v2(
      z.strictObject({ attempt, reason: sentence, blamed: z.boolean(), lastHeight: z.boolean() }),
      blamedThen,
    ),
    AdminClosed: v1(z.strictObject({ by: z.string(), reason: sentence })),
    PayoutInvoiceOffered: v1(
      z.strictObject({ attempt, request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant }),
    ),
    PayoutInvoiceTaken: v1(z.strictObject({ paymentHash: hash })),
    PayoutInvoiceRefused: v1(z.strictObject({ paymentHash: hash, reason: sentence })),
    /** How the seller's payout goes, as settlement tells it. */
    PayoutNoted: v1(z.strictObject({ what: payoutNews, detail: z.string().nullable() })),
    /** Somebody who had to be told has answered; an order is finished when nobody is left. */
    Told: v1(told),
    /** What arrives when nothing can change any more is kept, and changes nothing. */
    LateNoted: v1(z.strictObject({ what: z.string(), detail: z.string().nullable() })),
  },
  commands: {
    PlaceOrder: v1(orderTerms),
    Accept: v1(z.strictObject({ by: uuid, request: z.string().max(4096) })),
    Reject: v1(z.strictObject({ by: uuid, record: personsText.nullable() })),
    /** `reason`: a cancellationReason, or a sentence. */
    Cancel: v1(z.strictObject({ by: uuid, reason: sentence })),
    /** The gateway gives up an order whose answer would come too late. */
    Withdraw: v1(why),
    /** `bearsLoss`: the operator knows that it pays the seller of a channel that was named, should it be proven all the same. */
    CloseByOperator: v2(
      z.strictObject({ by: z.string(), reason: sentence, bearsLoss: z.literal(true).optional() }),
      (old: object) => old,
    ),
    LapseApproval: v1(z.strictObject({ deadline: instant })),
    LapseOpening: v1(z.strictObject({ attempt, deadline: instant })),
    RecordHoldIssued: v1(z.strictObject({ paymentHash: hash, invoice: z.string(), expiresAt: instant })),
    RecordHoldRefused: v1(z.strictObject({ reason: sentence })),
    RecordHoldHeld: v1(z.strictObject({ expiryHeight: height, heldAtHeight: height, receivedMsat: amount })),
    /** The invoice has expired, and is being cancelled: a payment that still arrives goes back. */
    RecordHoldExpiring: v1(why),
    RecordSettling: v1(z.strictObject({ outpoint, confirmations: z.int().nonnegative(), lastHeight: z.boolean() })),
    RecordHoldSettled: v1(z.strictObject({ settledAt: instant })),
    RecordHoldCancelled: v2(z.strictObject({ reason: cancelReason, verdict: channelVerdict.nullable(), sentence }), (old) => old),
    RecordMatched: v1(z.strictObject({ attempt, candidate })),
    RecordUnmatched: v1(z.strictObject({ attempt, reason: sentence })),
    /** `look` counts how often our node tried the buyer's for this order: before each attempt, and when a seller cannot connect. */
    RecordBuyerReach: v1(z.strictObject({ look: z.int().positive(), reached: z.boolean(), reason: sentence, height })),
    NameOutpoint: v1(z.strictObject({ by: uuid, outpoint, attestation: attestation.nullable() })),
    RecordOutpointClaim: v1(z.strictObject({ attempt, outpoint, granted: z.boolean() })),
    RecordRereserved: v1(z.strictObject({ attempt, granted: z.boolean(), reason: sentence.nullable() })),
    /**
     * `attested`: the note has the seller's attestation. `tooLate`: too few blocks are left for any outpoint of this order.
     * `naming`: which one was noted; 0 where that was not counted, and for a refusal, which is of the outpoint for good.
     */
    RecordOutpointNoted: v4(
      z.strictObject({
        attempt,
        outpoint,
        noted: z.boolean(),
        attested: z.boolean(),
        reason: sentence.nullable(),
        tooLate: z.boolean(),
        naming,
        window: namingWindow.optional(),
      }),
      notTooLate,
      unnumbered,
      withoutWindow,
    ),
    /** `naming`, here and below: of the watch that has told it; 0 where it did not count. */
    RecordFundingSeen: v2(z.strictObject({ outpoint, naming }), unnumbered),
    RecordFundingConfirmed: v2(z.strictObject({ outpoint, height, channelId: z.string(), naming }), unnumbered),
    RecordConfirmationsReached: v2(z.strictObject({ outpoint, confirmations: z.int().positive(), naming }), unnumbered),
    RecordFundingReorged: v2(z.strictObject({ outpoint, naming }), unnumbered),
    RecordFundingLost: v2(z.strictObject({ outpoint, failure: fundingFailure, reason: sentence, naming }), unnumbered),
    RecordChannelWrong: v3(z.strictObject({ outpoint, reason: sentence, blamed: z.boolean(), naming }), unnumbered, blamedThen),
    RecordLeaseEnded: v1(
      z.strictObject({ outpoint, early: z.boolean(), closedBy: z.enum(['seller', 'buyer', 'unknown']).nullable() }),
    ),
    RecordPayoutInvoice: v1(z.strictObject({ paymentHash: hash, taken: z.boolean(), reason: sentence.nullable() })),
    RecordPayout: v1(z.strictObject({ what: payoutNews, detail: z.string().nullable() })),
    /** `naming`: of a watch, which naming of its outpoint it is for. `question`: of a release, which one it answers. */
    RecordTold: v3(
      told.extend({ naming: naming.optional(), question: z.int().positive().optional() }),
      (old) => old,
      (old) => old,
    ),
  },
  fromOthers: ['PlaceOrder', 'Accept', 'Reject', 'Cancel', 'Withdraw', 'CloseByOperator', 'NameOutpoint'],
})
export type OrderFact = FactsOf<typeof order>
export type OrderCommand = CommandsOf<typeof order>
