import { z } from 'zod'
import { defineContract, v1, v2, v3, v4, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { cancelReason, channelVerdict } from './settlement/cancel-shapes.ts'
import {
  amount,
  attestation,
  candidate,
  destination,
  hash,
  height,
  instant,
  invoiceBefore,
  outpointNumber,
  submissionWindow,
  addTooLate,
  outpoint,
  policy,
  pubkey,
  rate,
  sentence,
  addOutpointNumber,
  uuid,
  acceptMissingInvoiceBefore,
  acceptMissingWindow,
} from './shapes.ts'

/** The source of an order. It decides who may read the order and how its sellers are ranked. */
export const orderSource = z.enum(['buy', 'lsps1-recommended', 'lsps1-cheapest', 'manual', 'subscription'])

/** Refers to a personal text by the id of its record and a salted hash. It never contains the text. */
const textReference = z.strictObject({ id: uuid, hash })

/** The options that an LSPS1 client requested. Every answer repeats them. The client's token is in the order's record. */
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
    /** The hash of a key for this order: 'session' opens an identity of its own, 'order' can read only this order. */
    key: z.strictObject({ kind: z.enum(['session', 'order']), hash: z.string() }).nullable(),
  }),
  destination,
  isPrivate: z.boolean(),
  railsOnly: z.boolean(),
  assetId: z.string().max(128).nullable(),
  /** The only nodes that may serve the order, because the buyer is connected to no other nodes; null: any node. */
  sellers: z.array(pubkey).nullable(),
  usdCents: amount.nullable(),
  sizeSat: amount,
  /** The amount of the hold invoice. */
  priceSat: amount,
  platformFeeMsat: amount,
  /** The least part of its fee that the platform keeps. A more expensive replacement seller may get the rest. */
  leastPlatformFeeMsat: amount,
  leaseBlocks: z.int().positive(),
  requiredConfirmations: z.int().positive(),
  rate: rate.nullable(),
  lsps: lspsRequest.nullable(),
  /** Redirect URL, referrer, or the token of LSPS1. */
  record: textReference.nullable(),
  candidate,
  /** The seller's offer accepts orders automatically. */
  autoAccepted: z.boolean(),
  policy,
  invoiceBefore,
})
export type OrderTerms = z.output<typeof orderTerms>

/** Reasons for which a seller ends its attempt. Only the first is checked before the seller is blamed. */
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
const reasonOnly = z.strictObject({ reason: sentence })
const payoutStatus = z.enum(['paid', 'failed', 'withheld'])
/** `key` identifies the subject: an attempt's number or an outpoint. */
const acknowledgement = z.strictObject({
  what: z.enum([
    'match-released',
    'match-used',
    'watch-started',
    'watch-stopped',
    'attestation-registered',
    'attestation-kept',
    'lease-started',
    'hold-closed',
  ]),
  key: z.string().max(100),
})
const fundingFailure = z.enum(['never-seen', 'vanished', 'double-spent', 'unconfirmed'])

/** Older versions always blamed the seller for an invalid channel. */
const addBlamed = (old: object) => ({ ...old, blamed: true })

export const orderContract = defineContract('order', 'order', {
  correlates: 'order',
  facts: {
    /** `approveBefore`: the deadline of the seller's answer; null if its offer accepts orders automatically. */
    OrderPlaced: v2(orderTerms.extend({ approveBefore: instant.nullable() }), acceptMissingInvoiceBefore),
    SellerAccepted: v1(z.strictObject({ by: uuid, autoAccepted: z.boolean() })),
    HoldIssuedRecorded: v1(z.strictObject({ paymentHash: hash, invoice: z.string(), expiresAt: instant })),
    PaymentHeld: v1(
      z.strictObject({ expiryHeight: height, heldAtHeight: height, receivedMsat: amount, openBeforeHeight: height }),
    ),
    /** No seller has the capacity. A late outpoint that is still being checked may save the order. */
    SearchFailed: v1(z.strictObject({ attempt, reason: sentence })),
    /** Capacity is reserved. The seller is asked to open the channel once our node has reached the buyer's node. */
    AttemptStarted: v1(z.strictObject({ attempt, candidate })),
    ChannelOpenRequested: v1(z.strictObject({ attempt, openBefore: instant })),
    /** The seller cannot connect to the buyer's node. Our own node tries to connect before the blame is decided. */
    UnreachableReported: v1(z.strictObject({ attempt, reason: sentence })),
    AttemptFailed: v1(z.strictObject({ attempt, reason: sentence, blamed: z.boolean() })),
    OutpointSubmitted: v1(z.strictObject({ attempt, outpoint, attestation: attestation.nullable() })),
    OutpointRefused: v1(z.strictObject({ attempt, outpoint, reason: sentence })),
    /** A replaced seller submits an outpoint. It counts only once the seller's capacity is reserved again. */
    LateOutpointSubmitted: v1(z.strictObject({ attempt, outpoint, attestation: attestation.nullable() })),
    /** The replaced seller's capacity is reserved again. */
    ReservationRenewedRecorded: v1(z.strictObject({ attempt, outpoint })),
    /** The outpoint claim was granted, so the outpoint serves only this order. Settlement is asked to record the outpoint. */
    OutpointClaimedRecorded: v1(z.strictObject({ attempt, outpoint })),
    /** `window`: the submission window from the attempt's first outpoint. */
    OutpointAccepted: v2(z.strictObject({ attempt, outpoint, window: submissionWindow.optional() }), acceptMissingWindow),
    AttestationGiven: v1(z.strictObject({ attempt, outpoint, attestation })),
    FundingSeenRecorded: v1(z.strictObject({ outpoint })),
    FundingConfirmedRecorded: v1(z.strictObject({ outpoint, height, channelId: z.string() })),
    FundingReorgedRecorded: v1(z.strictObject({ outpoint })),
    /** Here and in the next fact, another outpoint is being checked. The loss counts only if the other outpoint is refused. */
    FundingLostRecorded: v1(z.strictObject({ outpoint })),
    ChannelFoundInvalid: v1(z.strictObject({ outpoint, reason: sentence, blamed: z.boolean() })),
    ChannelOpened: v1(z.strictObject({ outpoint, confirmations: z.int().nonnegative() })),
    /** Settlement settles the hold. From here on the order cannot be closed. */
    SettlingStarted: v1(z.strictObject({ outpoint, lastHeight: z.boolean() })),
    /** The order is closing; `by` is the operator who closes it. */
    ReleaseRequested: v1(z.strictObject({ to: releaseTo, reason: sentence, blamed: z.boolean(), by: z.string().nullable() })),
    OrderValid: v1(z.strictObject({ settledAt: instant })),
    /** `attempt`: the attempt that the channel belongs to. */
    MonitoringFinished: v1(
      z.strictObject({ attempt, early: z.boolean(), closedBy: z.enum(['seller', 'buyer', 'unknown']).nullable() }),
    ),
    /** `record`: the seller's text about the rejection. */
    SellerRejected: v1(z.strictObject({ reason: sentence, record: textReference.nullable() })),
    SellerFailedToReact: v1(reasonOnly),
    BuyerRejected: v1(reasonOnly),
    BuyerFailedToPay: v1(reasonOnly),
    SellerFailedToOpenChannel: v1(z.strictObject({ reason: sentence, blamed: z.boolean(), lastHeight: z.boolean() })),
    /** `attempt`, here and in the next fact: the attempt that the outpoint belongs to. */
    SellerFailedToSendSwap: v1(z.strictObject({ attempt, reason: sentence, lastHeight: z.boolean() })),
    /** `blamed` is false if the output was spent by an unknown party. */
    InvalidChannelOpening: v2(
      z.strictObject({ attempt, reason: sentence, blamed: z.boolean(), lastHeight: z.boolean() }),
      addBlamed,
    ),
    AdminClosed: v1(z.strictObject({ by: z.string(), reason: sentence })),
    PayoutInvoiceSubmittedRecorded: v1(
      z.strictObject({ attempt, request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant }),
    ),
    PayoutInvoiceAcceptedRecorded: v1(z.strictObject({ paymentHash: hash })),
    PayoutInvoiceRefusedRecorded: v1(z.strictObject({ paymentHash: hash, reason: sentence })),
    /** The state of the seller's payout, as settlement reports it. */
    PayoutStatusRecorded: v1(z.strictObject({ what: payoutStatus, detail: z.string().nullable() })),
    /** Earlier versions recorded acknowledgements of commands. */
    Told: v1(acknowledgement),
    /** A message that arrived after the final status. It has no further effect. */
    LateMessageRecorded: v1(z.strictObject({ what: z.string(), detail: z.string().nullable() })),
  },
  commands: {
    PlaceOrder: { ...v2(orderTerms, acceptMissingInvoiceBefore), from: ['quote'] },
    Accept: { ...v1(z.strictObject({ by: uuid, request: z.string().max(4096) })), from: ['gateway'] },
    Reject: { ...v1(z.strictObject({ by: uuid, record: textReference.nullable() })), from: ['gateway'] },
    /** `reason`: a cancellationReason, or a sentence. */
    Cancel: { ...v1(z.strictObject({ by: uuid, reason: sentence })), from: ['gateway'] },
    /** The gateway withdraws an unpaid order. */
    Withdraw: { ...v1(reasonOnly), from: ['gateway'] },
    /** `bearsLoss`: the operator agrees to pay the seller if the channel of the accepted outpoint is proven later. */
    CloseByOperator: {
      ...v2(z.strictObject({ by: z.string(), reason: sentence, bearsLoss: z.literal(true).optional() }), (old: object) => old),
      from: ['gateway'],
    },
    LapseApproval: v1(z.strictObject({ deadline: instant })),
    /** The invoice was not issued before the caller stopped waiting. */
    LapseInvoice: v1(z.strictObject({ deadline: instant })),
    LapseOpening: v1(z.strictObject({ attempt, deadline: instant })),
    RecordHoldIssued: v1(z.strictObject({ paymentHash: hash, invoice: z.string(), expiresAt: instant })),
    RecordHoldRefused: v1(z.strictObject({ reason: sentence })),
    RecordHoldHeld: v1(z.strictObject({ expiryHeight: height, heldAtHeight: height, receivedMsat: amount })),
    /** The invoice has expired and is being cancelled, so a payment that still arrives is returned. */
    RecordHoldExpiring: v1(reasonOnly),
    RecordSettling: v1(z.strictObject({ outpoint, confirmations: z.int().nonnegative(), lastHeight: z.boolean() })),
    RecordHoldSettled: v1(z.strictObject({ settledAt: instant })),
    RecordHoldCancelled: v2(z.strictObject({ reason: cancelReason, verdict: channelVerdict.nullable(), sentence }), (old) => old),
    RecordMatched: v1(z.strictObject({ attempt, candidate })),
    RecordUnmatched: v1(z.strictObject({ attempt, reason: sentence })),
    /** `check` numbers our node's tries to reach the buyer's node: before each attempt, and when a seller cannot connect. */
    RecordBuyerReach: v1(z.strictObject({ check: z.int().positive(), reached: z.boolean(), reason: sentence, height })),
    SubmitOutpoint: { ...v1(z.strictObject({ by: uuid, outpoint, attestation: attestation.nullable() })), from: ['gateway'] },
    RecordOutpointClaim: v1(z.strictObject({ attempt, outpoint, granted: z.boolean() })),
    RecordReservationRenewal: v1(z.strictObject({ attempt, granted: z.boolean(), reason: sentence.nullable() })),
    /**
     * `attested`: settlement has the seller's attestation. `tooLate`: too few blocks are left for any outpoint of this order.
     * `outpointNumber`: the outpoint's number. It is 0 from versions that did not count, and for a refusal, which is final.
     */
    RecordOutpointRegistered: v4(
      z.strictObject({
        attempt,
        outpoint,
        registered: z.boolean(),
        attested: z.boolean(),
        reason: sentence.nullable(),
        tooLate: z.boolean(),
        outpointNumber,
        window: submissionWindow.optional(),
      }),
      addTooLate,
      addOutpointNumber,
      acceptMissingWindow,
    ),
    /** `outpointNumber`, here and below: identifies the watch that sent the command; 0 from versions that did not count. */
    RecordFundingSeen: v2(z.strictObject({ outpoint, outpointNumber }), addOutpointNumber),
    RecordFundingConfirmed: v2(z.strictObject({ outpoint, height, channelId: z.string(), outpointNumber }), addOutpointNumber),
    RecordConfirmationsReached: v2(
      z.strictObject({ outpoint, confirmations: z.int().positive(), outpointNumber }),
      addOutpointNumber,
    ),
    RecordFundingReorged: v2(z.strictObject({ outpoint, outpointNumber }), addOutpointNumber),
    RecordFundingLost: v2(
      z.strictObject({ outpoint, failure: fundingFailure, reason: sentence, outpointNumber }),
      addOutpointNumber,
    ),
    RecordChannelInvalid: v3(
      z.strictObject({ outpoint, reason: sentence, blamed: z.boolean(), outpointNumber }),
      addOutpointNumber,
      addBlamed,
    ),
    RecordLeaseEnded: v1(
      z.strictObject({ outpoint, early: z.boolean(), closedBy: z.enum(['seller', 'buyer', 'unknown']).nullable() }),
    ),
    RecordPayoutInvoice: v1(z.strictObject({ paymentHash: hash, accepted: z.boolean(), reason: sentence.nullable() })),
    RecordPayout: v1(z.strictObject({ what: payoutStatus, detail: z.string().nullable() })),
  },
  records: {
    PlaceOrder: ['OrderPlaced', 'SellerAccepted'],
    Accept: ['PayoutInvoiceSubmittedRecorded', 'SellerAccepted'],
    Reject: ['SellerRejected'],
    Cancel: ['UnreachableReported', 'AttemptFailed', 'ReleaseRequested', 'BuyerRejected'],
    Withdraw: ['ReleaseRequested', 'BuyerRejected'],
    CloseByOperator: ['ReleaseRequested', 'AdminClosed'],
    LapseApproval: ['SellerFailedToReact'],
    LapseInvoice: ['BuyerRejected'],
    LapseOpening: ['AttemptFailed', 'ReleaseRequested'],
    RecordHoldIssued: ['HoldIssuedRecorded', 'LateMessageRecorded'],
    RecordHoldRefused: ['BuyerRejected'],
    RecordHoldHeld: ['PaymentHeld', 'LateMessageRecorded'],
    RecordHoldExpiring: ['ReleaseRequested'],
    RecordSettling: ['AttemptFailed', 'OutpointAccepted', 'ChannelOpened', 'SettlingStarted', 'LateMessageRecorded'],
    RecordHoldSettled: ['OrderValid', 'LateMessageRecorded'],
    RecordHoldCancelled: [
      'SellerRejected',
      'BuyerRejected',
      'BuyerFailedToPay',
      'SellerFailedToOpenChannel',
      'SellerFailedToSendSwap',
      'InvalidChannelOpening',
      'AdminClosed',
      'LateMessageRecorded',
    ],
    RecordMatched: ['AttemptStarted'],
    RecordUnmatched: ['SearchFailed', 'ReleaseRequested'],
    RecordBuyerReach: ['ChannelOpenRequested', 'AttemptFailed', 'ReleaseRequested'],
    SubmitOutpoint: ['OutpointSubmitted', 'LateOutpointSubmitted', 'OutpointClaimedRecorded', 'AttestationGiven'],
    RecordOutpointClaim: ['OutpointClaimedRecorded', 'OutpointRefused', 'ReleaseRequested'],
    RecordReservationRenewal: ['ReservationRenewedRecorded', 'OutpointClaimedRecorded', 'OutpointRefused', 'ReleaseRequested'],
    RecordOutpointRegistered: ['AttemptFailed', 'OutpointAccepted', 'AttestationGiven', 'OutpointRefused', 'ReleaseRequested'],
    RecordFundingSeen: ['FundingSeenRecorded'],
    RecordFundingConfirmed: ['FundingSeenRecorded', 'FundingConfirmedRecorded'],
    RecordConfirmationsReached: ['ChannelOpened'],
    RecordFundingReorged: ['FundingReorgedRecorded', 'LateMessageRecorded'],
    RecordFundingLost: ['FundingLostRecorded', 'FundingReorgedRecorded', 'ReleaseRequested', 'LateMessageRecorded'],
    RecordChannelInvalid: ['ChannelFoundInvalid', 'ReleaseRequested', 'LateMessageRecorded'],
    RecordLeaseEnded: ['MonitoringFinished'],
    RecordPayoutInvoice: ['PayoutInvoiceAcceptedRecorded', 'PayoutInvoiceRefusedRecorded'],
    RecordPayout: ['PayoutStatusRecorded'],
  },
  // Withdraw, ReleaseRequested and BuyerRejected are not listed, because the payment may arrive before or during a withdrawal.
  unpaid: [
    'PlaceOrder',
    'OrderPlaced',
    'SellerAccepted',
    'RecordHoldIssued',
    'HoldIssuedRecorded',
    'RecordHoldRefused',
    'LapseApproval',
    'LapseInvoice',
    'SellerFailedToReact',
  ],
})
export type OrderFact = FactsOf<typeof orderContract>
export type OrderCommand = CommandsOf<typeof orderContract>
export type OrderTarget = TargetOf<typeof orderContract>
