import { z } from 'zod'
import { defineContract, v1, v2, v3, v4, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { cancelReason, channelVerdict } from './settlement/cancel-shapes.ts'
import {
  addCause,
  addMissingProof,
  creditor,
  ledgerEntry,
  lossCause,
  operatorName,
  payoutDecision,
  provenDecision,
  provenInvoice,
  submittedInvoice,
  withholdingCause,
} from './settlement/payout-shapes.ts'
import {
  amount,
  attestation,
  channelTerms,
  destination,
  hash,
  height,
  instant,
  invoiceBefore,
  outpointNumber,
  submissionWindow,
  addTooLate,
  outpoint,
  pubkey,
  sentence,
  addOutpointNumber,
  uuid,
  acceptMissingInvoiceBefore,
  acceptMissingWindow,
} from './shapes.ts'

/** `peer` is null if the node no longer shows the peer whose channel carried the HTLC. */
const htlc = z.strictObject({ amountMsat: amount, expiryHeight: height, peer: pubkey.nullable() })

/** `graph`: the channel is announced, and in our own graph. `probe`: our probe passed through it to the buyer's node. */
const peerProof = z.enum(['graph', 'probe'])
export type PeerProof = z.output<typeof peerProof>

/** Settlement's own evidence of the channel when it decided to settle. */
const proof = z.strictObject({
  outpoint,
  tipHeight: height,
  confirmations: z.int().positive(),
  peer: peerProof.nullable(),
  withheld: z.boolean(),
})

/** The input of the proof function; see the package `channel-proof`. */
export const evidence = z.strictObject({
  tipHeight: height,
  output: z
    .strictObject({
      outpoint,
      valueSat: amount,
      script: z.string(),
      height: height.nullable(),
      txIndex: z.int().nonnegative().nullable(),
      spentBy: z.strictObject({ txid: hash, height: height.nullable() }).nullable(),
      /** No mempool could be read, so a spend may wait for a block. */
      isSpendUnknown: z.literal(true).optional(),
    })
    .nullable(),
  attestation: attestation.nullable(),
  attestationSigner: pubkey.nullable(),
  graph: z
    .strictObject({
      capacitySat: amount,
      nodes: z.tuple([pubkey, pubkey]),
      shortChannelId: z.string(),
      /** The seller's fees for forwarding, once it has announced them. */
      sellerFees: z.strictObject({ baseFeeMsat: amount, feeRatePpm: z.int().nonnegative() }).optional(),
    })
    .nullable(),
  /** Determined only before a probe; false otherwise. */
  otherChannelsBetween: z.boolean(),
  probe: z.enum(['reached', 'not-reached', 'not-tried']),
})
/** Evidence of older versions does not say whether a mempool was read. */
export const acceptMissingSpendUnknown = (old: object): object => old
export type EvidenceData = z.output<typeof evidence>

export type LedgerEntry = z.output<typeof ledgerEntry>
export type WithholdingCause = z.output<typeof withholdingCause>
export type Creditor = z.output<typeof creditor>
export type PayoutDecision = z.output<typeof payoutDecision>
export type LossCause = z.output<typeof lossCause>

/** The terms that a channel of the order must meet, for every seller. */
const soldTerms = channelTerms.pick({ buyerPubkey: true, capacitySat: true, isPrivate: true, requiredConfirmations: true })

/** Holds of older versions have no sold terms, so settlement does not compare their channels with sold terms. */
const acceptMissingSold = (old: object): object => old

export const holdTerms = z.strictObject({
  /** The number of the order's invoice, from which the preimage is derived. Orders have one invoice, with number 1. */
  issue: z.int().positive(),
  amountMsat: amount,
  platformFeeMsat: amount,
  leastPlatformFeeMsat: amount,
  cltvDelta: z.int().positive(),
  expirySeconds: z.int().positive(),
  description: z.string().max(639),
  destination,
  guardBlocks: z.int().positive(),
  /** Blocks within which a funding has to confirm. They determine the last height at which a seller may submit a funding. */
  fundingConfirmsWithinBlocks: z.int().positive(),
  payoutConfirmations: z.int().positive(),
  withheldBlocks: z.int().positive(),
  sold: soldTerms.optional(),
})
export type HoldTerms = z.output<typeof holdTerms>

const outpointRegistration = z.strictObject({
  attempt: z.int().positive(),
  outpoint,
  terms: channelTerms,
  sellerAmountMsat: amount,
  attestation: attestation.nullable(),
  outpointNumber,
})

export type RegisteredOutpoint = z.output<typeof outpointRegistration>

export const settlementContract = defineContract('settlement', 'settlement', {
  correlates: 'order',
  facts: {
    /** The intent to make an invoice: its hash is recorded before the call of the node. */
    HoldRequested: v2(holdTerms.extend({ keyId: z.string(), node: pubkey, paymentHash: hash }), acceptMissingSold),
    /** `node-too-hasty`: our node's hold-expiry delta is too large, or unknown. `withdrawn`: no invoice is wanted any more. */
    HoldRefused: v1(
      z.strictObject({
        code: z.enum(['unreachable', 'stale-tip', 'no-inbound', 'node-too-hasty', 'withdrawn']),
        reason: sentence,
      }),
    ),
    HoldIssued: v1(
      z.strictObject({ paymentHash: hash, keyId: z.string(), node: pubkey, invoice: z.string(), expiresAt: instant }),
    ),
    HoldHeld: v2(
      z.strictObject({ htlcs: z.array(htlc), expiryHeight: height, heldAtHeight: height, receivedMsat: amount }),
      (old) => old,
    ),
    /** The outcome of a reach check: before an attempt, our own node tried to reach the buyer's node. */
    BuyerReachChecked: v1(z.strictObject({ attempt: z.int().positive(), reached: z.boolean(), reason: sentence, height })),
    BuyerReachRequested: v1(z.strictObject({ attempt: z.int().positive() })),
    /** The outcome of a try of the guard near the last height. A buyer's node that our node reaches can answer a probe. */
    BuyerReachTried: v1(z.strictObject({ height, reached: z.boolean(), reason: sentence })),
    /** A peer proof of the registered outpoint. It may precede the settlement, and later evidence does not revoke it. */
    PeerProven: v1(z.strictObject({ outpoint, peer: peerProof, height })),
    /** `window`: the submission window of the attempt, which starts with the attempt's first outpoint. */
    OutpointRegistered: v3(
      outpointRegistration.extend({ window: submissionWindow.optional() }),
      addOutpointNumber,
      acceptMissingWindow,
    ),
    /** `tooLate`: this payment has too few blocks left for any channel of any seller. */
    OutpointRegistrationRefused: v2(
      z.strictObject({ attempt: z.int().positive(), outpoint, reason: sentence, tooLate: z.boolean() }),
      addTooLate,
    ),
    SettlementWanted: v1(z.strictObject({ outpoint })),
    /** From here on the hold cannot be cancelled. */
    SettlementStarted: v1(z.strictObject({ proof, lastHeight: z.boolean() })),
    /** Too few blocks are left to settle, and the node has not settled: the payment returns, unless the node shows otherwise. */
    SettlementMissed: v1(z.strictObject({ height, sentence })),
    /** The node shows the HTLCs settled. `confirmations` is the number in the proof. */
    HoldSettled: v1(z.strictObject({ settledAt: instant, receivedMsat: amount, confirmations: z.int().positive() })),
    CancelRequested: v2(z.strictObject({ reason: cancelReason, verdict: channelVerdict.nullable(), sentence }), (old) => old),
    CancelRefused: v1(z.strictObject({ reason: sentence })),
    /** The node confirmed the cancellation. The reason is repeated for services that receive only this fact. */
    HoldCancelled: v2(
      z.strictObject({ at: instant, reason: cancelReason, verdict: channelVerdict.nullable(), sentence }),
      (old) => old,
    ),
    /** The height at which the guard has to decide. Settlement requests the proof again, in case the guard is late. */
    LastHeightReached: v1(z.strictObject({ height })),
    LedgerPosted: v1(z.strictObject({ posting: z.string(), entries: z.array(ledgerEntry).min(2) })),
    PayoutInvoiceSubmitted: v2(
      z.strictObject({ request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant, creditor }),
      (old: object) => ({ ...old, creditor: 'seller' }),
    ),
    PayoutInvoiceAccepted: v1(z.strictObject({ paymentHash: hash })),
    PayoutInvoiceRefused: v1(z.strictObject({ paymentHash: hash, reason: sentence })),
    /** From `untilHeight` on, each cause has its own rule: see `withholding.decide.ts` of the settlement service. */
    PayoutWithheld: v2(z.strictObject({ cause: withholdingCause, reason: sentence, untilHeight: height }), addCause),
    /** A cause ended: it vanished, its end height came, or an operator decided. */
    WithholdingLifted: v1(z.strictObject({ cause: withholdingCause, height, how: z.enum(['gone', 'end-height', 'operator']) })),
    /** An operator decided between seller and buyer, after it saw the evidence. */
    PayoutDecided: v1(z.strictObject({ to: payoutDecision, by: operatorName, reason: sentence })),
    /** The seller gets no payout any more; its share goes to the buyer. */
    PayableClosed: v1(z.strictObject({ height, reason: sentence })),
    /** The payment was lost, and the channel may exist. Settlement searches for it until `untilHeight`. */
    LossSearchStarted: v1(z.strictObject({ cause: lossCause, untilHeight: height })),
    /** The channel exists, and the operator owes the seller its amount. `peer`: its peer proof. */
    LossBorne: v1(z.strictObject({ cause: lossCause, height, peer: peerProof.nullable(), amountMsat: amount })),
    /** The operator owes no amount. `by` is the operator who decided it; null if the chain decided. */
    LossRefuted: v1(z.strictObject({ height, reason: sentence, by: operatorName.nullable() })),
    /** An operator requests an immediate retry of a payout. */
    PayoutRetryRequested: v1(z.strictObject({ by: operatorName, reason: sentence })),
    PayoutReleased: v1(z.strictObject({ atHeight: height, confirmations: z.int().nonnegative() })),
    /** `attempt` numbers the tries to pay this payout, here and in its outcomes. It is not the seller's attempt. */
    PayoutRequested: v1(
      z.strictObject({ attempt: z.int().positive(), paymentHash: hash, request: z.string(), maxFeeMsat: amount }),
    ),
    PayoutSucceeded: v1(z.strictObject({ attempt: z.int().positive(), paymentHash: hash, feeMsat: amount })),
    PayoutFailed: v1(
      z.strictObject({
        attempt: z.int().positive(),
        paymentHash: hash,
        status: z.enum(['PAYMENT_REJECTED_BY_DESTINATION', 'INVALID_PAYMENT_SECRET', 'SELLER_INVOICE_EXPIRED', 'NO_ROUTE']),
        reason: sentence,
        /** Null: the payout waits for another invoice. */
        retryAt: instant.nullable(),
      }),
    ),
    /** A re-organisation, a spend or a broken promise after the settlement. An incident is never undone and always shown. */
    IncidentRecorded: v1(z.strictObject({ what: z.string(), height })),
  },
  commands: {
    IssueHold: { ...v3(holdTerms.extend({ invoiceBefore }), acceptMissingSold, acceptMissingInvoiceBefore), from: ['order'] },
    /** `attempt` is the number of the reach check, and not the seller's attempt. It grows with each check of the order. */
    CheckReach: { ...v1(z.strictObject({ attempt: z.int().positive() })), from: ['order'] },
    /** The outcome of a reach check. Attempt 0 is the check before the invoice is made. */
    RecordReach: v1(z.strictObject({ attempt: z.int().nonnegative(), reached: z.boolean(), reason: sentence, height })),
    /** The outcome of a try of the guard near the last height. */
    RecordReachTry: v1(z.strictObject({ height, reached: z.boolean(), reason: sentence })),
    RecordIssued: v1(z.strictObject({ invoice: z.string(), expiresAt: instant })),
    /** `crowdedPeer`: a peer whose channels already hold more HTLCs than we allow. */
    RecordHeld: v2(
      z.strictObject({ htlcs: z.array(htlc).min(1), height, receivedMsat: amount, crowdedPeer: pubkey.nullable() }),
      (old) => old,
    ),
    /**
     * `window`: the window that the attempt's first outpoint started. The first outpoint itself comes without it, and so does
     * an earlier outpoint to which the seller returns.
     */
    RegisterOutpoint: {
      ...v3(
        outpointRegistration.extend({ fundingSeenBlocks: z.int().positive().optional(), window: submissionWindow.optional() }),
        addOutpointNumber,
        acceptMissingWindow,
      ),
      from: ['order'],
    },
    SettleHold: { ...v1(z.strictObject({ outpoint })), from: ['order'] },
    /** The guard's check at a block: settlement's own evidence, without another service in between. */
    Guard: v4(
      z.strictObject({
        height,
        /** The subject of the evidence; null if no outpoint is recorded. */
        outpoint: outpoint.nullable(),
        evidence: evidence.nullable(),
        /**
         * The time at which the gathering of the evidence began. Old evidence must not move money. The time is no instant: it is
         * a reading of the deciding process's monotonic clock, in ms. This command never leaves that process.
         */
        observedAt: instant,
        /**
         * Whether our own node was up to date with its blocks, graph and channels before the check. If not, a channel may
         * exist that the node does not show.
         */
        nodeReady: z.boolean(),
      }),
      // The age is unknown, and settlement treats it as too old.
      (old: object) => ({ ...old, observedAt: 0 }),
      // Earlier versions treated the node as ready at every check.
      (old: object) => ({ ...old, nodeReady: true }),
      acceptMissingSpendUnknown,
    ),
    /** The timer of the last height. It requests a proof again, in case the guard is late. */
    LastHeight: v1(z.strictObject({ height })),
    /** `byOperator`: an operator closed the order, regardless of the seller's progress. */
    CancelHold: {
      ...v2(z.strictObject({ sentence, byOperator: z.literal(true).optional() }), (old: object) => old),
      from: ['order'],
    },
    /** Ends the search for a channel whose payment was lost. */
    EndLoss: v1(z.strictObject({ height })),
    ExpireInvoice: v1(z.strictObject({ deadline: instant, paymentHash: hash })),
    /** The height at which settlement found that it can no longer settle safely. */
    RecordSettlementMissed: v1(z.strictObject({ height })),
    RecordSettled: v1(z.strictObject({ settledAt: instant, receivedMsat: amount })),
    /** `unmade`: at the check, neither the node nor the stream had an invoice. The node may have made one after the check. */
    RecordCancelled: v2(z.strictObject({ at: instant, unmade: z.boolean() }), (old: object) => ({ ...old, unmade: false })),
    /** The node cancelled the hold by itself, by its own hold-expiry delta. */
    RecordNodeCancelled: v1(z.strictObject({ at: instant, height })),
    SubmitPayoutInvoice: {
      ...v1(submittedInvoice),
      from: ['order', 'gateway'],
    },
    /** The buyer's own invoice, if the seller's share is owed to the buyer. */
    SubmitRefundInvoice: { ...v2(provenInvoice, addMissingProof), from: ['gateway'] },
    DecidePayout: { ...v2(provenDecision, addMissingProof), from: ['gateway'] },
    RetryPayoutNow: { ...v1(z.strictObject({ by: operatorName, reason: sentence })), from: ['gateway'] },
    RecordPayhash: v1(z.strictObject({ paymentHash: hash, granted: z.boolean() })),
    RecordPayout: v2(
      z.discriminatedUnion('state', [
        z.strictObject({
          state: z.literal('succeeded'),
          attempt: z.int().positive(),
          feeMsat: amount,
          /** Set if an earlier attempt paid another invoice of the order instead of this attempt's. */
          paymentHash: hash.optional(),
        }),
        z.strictObject({
          state: z.literal('failed'),
          attempt: z.int().positive(),
          status: z.enum(['PAYMENT_REJECTED_BY_DESTINATION', 'INVALID_PAYMENT_SECRET', 'SELLER_INVOICE_EXPIRED', 'NO_ROUTE']),
          reason: sentence,
        }),
      ]),
      (old: object) => old,
    ),
    RetryPayout: v1(z.strictObject({ deadline: instant })),
    /** The watcher found, during the lease, that the seller broke a promise. */
    RecordPromiseBroken: v1(z.strictObject({ sentence, height })),
  },
  records: {
    IssueHold: ['HoldRequested', 'HoldRefused'],
    CheckReach: ['BuyerReachRequested'],
    RecordReach: ['HoldRefused', 'BuyerReachChecked'],
    RecordReachTry: ['BuyerReachTried'],
    RecordIssued: ['HoldIssued'],
    RecordHeld: ['HoldHeld', 'CancelRequested'],
    RegisterOutpoint: ['OutpointRegistered', 'OutpointRegistrationRefused'],
    SettleHold: ['SettlementWanted'],
    Guard: [
      'PeerProven',
      'SettlementStarted',
      'CancelRequested',
      'PayoutWithheld',
      'WithholdingLifted',
      'IncidentRecorded',
      'PayableClosed',
      'PayoutReleased',
      'PayoutRequested',
      'LossSearchStarted',
      'LossBorne',
      'LossRefuted',
      'LedgerPosted',
    ],
    LastHeight: ['LastHeightReached'],
    CancelHold: ['HoldRefused', 'CancelRequested', 'CancelRefused', 'LossSearchStarted'],
    EndLoss: ['LossRefuted'],
    ExpireInvoice: ['HoldHeld', 'CancelRequested'],
    RecordSettlementMissed: ['SettlementMissed', 'IncidentRecorded'],
    RecordSettled: ['HoldSettled', 'LedgerPosted', 'PayoutWithheld'],
    RecordCancelled: ['HoldCancelled', 'LossBorne', 'IncidentRecorded', 'LedgerPosted', 'PayoutWithheld'],
    RecordNodeCancelled: [
      'CancelRequested',
      'LossSearchStarted',
      'HoldCancelled',
      'LossBorne',
      'IncidentRecorded',
      'LedgerPosted',
      'PayoutWithheld',
    ],
    SubmitPayoutInvoice: ['PayoutInvoiceSubmitted', 'PayoutInvoiceAccepted', 'PayoutInvoiceRefused'],
    SubmitRefundInvoice: ['PayoutInvoiceSubmitted', 'PayoutInvoiceAccepted', 'PayoutInvoiceRefused'],
    DecidePayout: ['PayoutDecided', 'WithholdingLifted', 'PayableClosed', 'LossRefuted', 'LedgerPosted'],
    RetryPayoutNow: ['PayoutRetryRequested', 'PayoutRequested'],
    RecordPayhash: ['PayoutInvoiceAccepted', 'PayoutInvoiceRefused', 'PayoutRequested'],
    RecordPayout: ['PayoutSucceeded', 'PayoutFailed', 'PayoutRequested', 'LedgerPosted', 'IncidentRecorded'],
    RetryPayout: ['PayoutRequested'],
    RecordPromiseBroken: ['PayoutWithheld', 'IncidentRecorded'],
  },
  // ExpireInvoice may record a payment that arrived just in time, so it is not listed.
  unpaid: ['IssueHold', 'HoldRequested', 'HoldRefused', 'RecordIssued', 'HoldIssued'],
})
export type SettlementFact = FactsOf<typeof settlementContract>
export type SettlementCommand = CommandsOf<typeof settlementContract>
export type SettlementTarget = TargetOf<typeof settlementContract>

/** One payment hash is paid for one order, because the first claim of its stream wins. The stream's id is the hash. */
export const paymentHashClaimContract = defineContract('payhash', 'settlement', {
  relatedTo: { subject: 'order', isClaim: true, field: 'paymentHash' },
  facts: {
    PayhashClaimed: v1(z.strictObject({ orderId: uuid })),
    PayhashRefused: v1(z.strictObject({ orderId: uuid })),
  },
  commands: { ClaimPayhash: v1(z.strictObject({ orderId: uuid })) },
  records: {
    ClaimPayhash: ['PayhashClaimed', 'PayhashRefused'],
  },
})
export type PayhashFact = FactsOf<typeof paymentHashClaimContract>
export type PayhashCommand = CommandsOf<typeof paymentHashClaimContract>
export type PayhashTarget = TargetOf<typeof paymentHashClaimContract>
