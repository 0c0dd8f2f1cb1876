import { z } from 'zod'
import { contract, v1, v2, v3, type CommandsOf, type FactsOf } from './define.ts'
import {
  amount,
  attestation,
  channelTerms,
  destination,
  hash,
  height,
  instant,
  naming,
  notTooLate,
  outpoint,
  pubkey,
  sentence,
  unnumbered,
  uuid,
} from './shapes.ts'

const htlc = z.strictObject({ amountMsat: amount, expiryHeight: height, peer: pubkey })

/** Double entries: a positive amount is a debit, a negative one a credit; those of a posting add up to nothing. */
const ledgerAccount = z.enum([
  'received',
  'payable',
  'platform-fee',
  'price-difference',
  'routing-cost',
  'overpayment',
  'rounding',
  'paid-out',
])
const entry = z.strictObject({ account: ledgerAccount, amountMsat: z.string().regex(/^-?(0|[1-9]\d*)$/) })
export type LedgerEntry = z.output<typeof entry>

/** What settlement itself saw of a channel when it decided over the money. */
const proof = z.strictObject({
  outpoint,
  tipHeight: height,
  confirmations: z.int().positive(),
  peer: z.enum(['graph', 'probe']).nullable(),
  withheld: z.boolean(),
})

/** What the proof function was given: see channel-proof in the package `bitcoin`. */
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
    })
    .nullable(),
  attestation: attestation.nullable(),
  attestationSigner: pubkey.nullable(),
  graph: z
    .strictObject({
      capacitySat: amount,
      nodes: z.tuple([pubkey, pubkey]),
      shortChannelId: z.string(),
      /** What the seller takes for forwarding, once it has announced that. */
      sellerFees: z.strictObject({ baseFeeMsat: amount, feeRatePpm: z.int().nonnegative() }).optional(),
    })
    .nullable(),
  /** Asked only before a probe: without one it says nothing. */
  otherChannelsBetween: z.boolean(),
  probe: z.enum(['reached', 'not-reached', 'not-tried']),
})
export type EvidenceData = z.output<typeof evidence>

export const cancelReason = z.enum(['released', 'last-height', 'expired', 'node', 'no-slot'])
export const channelVerdict = z.enum(['wrong', 'unconfirmed', 'unproven', 'unnamed'])

export const holdTerms = z.strictObject({
  issue: z.int().positive(),
  amountMsat: amount,
  platformFeeMsat: amount,
  leastPlatformFeeMsat: amount,
  cltvDelta: z.int().positive(),
  expirySeconds: z.int().positive(),
  description: z.string().max(639),
  destination,
  guardBlocks: z.int().positive(),
  /** Blocks that a funding transaction is given to confirm; the last height to name one follows from it. */
  fundingConfirmsWithinBlocks: z.int().positive(),
  payoutConfirmations: z.int().positive(),
  withheldBlocks: z.int().positive(),
})
export type HoldTerms = z.output<typeof holdTerms>

const noted = z.strictObject({
  attempt: z.int().positive(),
  outpoint,
  terms: channelTerms,
  sellerAmountMsat: amount,
  attestation: attestation.nullable(),
  naming,
})

export type NotedOutpoint = z.output<typeof noted>

export const settlement = contract('settlement', 'settlement', {
  facts: {
    /** The intent of an invoice: its hash is known before the node is asked. */
    HoldRequested: v1(holdTerms.extend({ keyId: z.string(), node: pubkey, paymentHash: hash })),
    HoldRefused: v1(
      z.strictObject({
        code: z.enum(['unreachable', 'stale-tip', 'no-inbound', 'node-too-hasty', 'withdrawn']),
        reason: sentence,
      }),
    ),
    HoldIssued: v1(
      z.strictObject({ paymentHash: hash, keyId: z.string(), node: pubkey, invoice: z.string(), expiresAt: instant }),
    ),
    HoldHeld: v1(z.strictObject({ htlcs: z.array(htlc), expiryHeight: height, heldAtHeight: height, receivedMsat: amount })),
    /** Whether our own node reached the buyer's before an attempt, and at which height. */
    ReachChecked: v1(z.strictObject({ attempt: z.int().positive(), reached: z.boolean(), reason: sentence, height })),
    ReachAsked: v1(z.strictObject({ attempt: z.int().positive() })),
    OutpointNoted: v2(noted, unnumbered),
    /** `tooLate`: too few blocks are left under this payment for any channel, whoever opens it. */
    OutpointNoteRefused: v2(
      z.strictObject({ attempt: z.int().positive(), outpoint, reason: sentence, tooLate: z.boolean() }),
      notTooLate,
    ),
    SettleAsked: v1(z.strictObject({ outpoint })),
    /** From here on nothing can cancel. */
    SettleRequested: v1(z.strictObject({ proof, lastHeight: z.boolean() })),
    /** Too few blocks are left to take the payment, and the node has not taken it: it goes back, unless the node shows otherwise. */
    SettleMissed: v1(z.strictObject({ height, sentence })),
    /** The node shows the HTLCs settled. `confirmations` are those that the proof saw. */
    HoldSettled: v1(z.strictObject({ settledAt: instant, receivedMsat: amount, confirmations: z.int().positive() })),
    CancelRequested: v1(z.strictObject({ reason: cancelReason, verdict: channelVerdict.nullable(), sentence })),
    CancelRefused: v1(z.strictObject({ reason: sentence })),
    /** The node confirmed it. Why is repeated here, for those who only hear of the end. */
    HoldCancelled: v1(z.strictObject({ at: instant, reason: cancelReason, verdict: channelVerdict.nullable(), sentence })),
    /** The height at which the guard has to decide: whoever is late asks for the proof once more. */
    LastHeightReached: v1(z.strictObject({ height })),
    LedgerPosted: v1(z.strictObject({ posting: z.string(), entries: z.array(entry).min(2) })),
    PayoutInvoiceOffered: v1(
      z.strictObject({ request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant }),
    ),
    PayoutInvoiceTaken: v1(z.strictObject({ paymentHash: hash })),
    PayoutInvoiceRefused: v1(z.strictObject({ paymentHash: hash, reason: sentence })),
    PayoutWithheld: v1(z.strictObject({ reason: sentence, untilHeight: height })),
    PayoutReleased: v1(z.strictObject({ atHeight: height, confirmations: z.int().nonnegative() })),
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
        /** Null: it waits for another invoice. */
        retryAt: instant.nullable(),
      }),
    ),
    /** A re-org, a spend or a broken promise after the money was settled: never undone, always shown. */
    IncidentNoted: v1(z.strictObject({ what: z.string(), height })),
  },
  commands: {
    IssueHold: v1(holdTerms),
    /** `attempt` grows with each look that the order asks for. */
    CheckReach: v1(z.strictObject({ attempt: z.int().positive() })),
    /** Attempt 0 is the one before the invoice. */
    RecordReach: v1(z.strictObject({ attempt: z.int().nonnegative(), reached: z.boolean(), reason: sentence, height })),
    RecordIssued: v1(z.strictObject({ invoice: z.string(), expiresAt: instant })),
    /** `crowdedPeer`: through this peer more HTLCs are held already than we allow. */
    RecordHeld: v1(z.strictObject({ htlcs: z.array(htlc).min(1), height, receivedMsat: amount, crowdedPeer: pubkey.nullable() })),
    NoteOutpoint: v2(noted, unnumbered),
    SettleHold: v1(z.strictObject({ outpoint })),
    /** The guard's word on a block: what settlement saw by itself, with no other service in between. */
    Guard: v3(
      z.strictObject({
        height,
        /** What the evidence is about; null where nothing was named. */
        outpoint: outpoint.nullable(),
        evidence: evidence.nullable(),
        /** Before the look began that gave the evidence: money is not moved by an old one. */
        lookedAt: instant,
        /** Whether our own node had its blocks and its graph before the look: if not, what it does not show may be there. */
        nodeReady: z.boolean(),
      }),
      // Of unknown age, so too old.
      (old: object) => ({ ...old, lookedAt: 0 }),
      // Every look counted as one of a node that has all.
      (old: object) => ({ ...old, nodeReady: true }),
    ),
    /** The last height by the timer: asks for a proof once more, should the guard not have come. */
    LastHeight: v1(z.strictObject({ height })),
    CancelHold: v1(z.strictObject({ sentence })),
    ExpireInvoice: v1(z.strictObject({ deadline: instant, paymentHash: hash })),
    /** At which height it was seen that the payment cannot safely be taken any more. */
    RecordSettleMissed: v1(z.strictObject({ height })),
    RecordSettled: v1(z.strictObject({ settledAt: instant, receivedMsat: amount })),
    /** `unmade`: the node showed no invoice, and none was known of before that look: one may have been made since. */
    RecordCancelled: v2(z.strictObject({ at: instant, unmade: z.boolean() }), (old: object) => ({ ...old, unmade: false })),
    /** The node shows it cancelled although nobody asked: its own last line. */
    RecordNodeCancelled: v1(z.strictObject({ at: instant, height })),
    GivePayoutInvoice: v1(
      z.strictObject({ request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant }),
    ),
    RecordPayhash: v1(z.strictObject({ paymentHash: hash, granted: z.boolean() })),
    RecordPayout: v2(
      z.discriminatedUnion('state', [
        z.strictObject({
          state: z.literal('succeeded'),
          attempt: z.int().positive(),
          feeMsat: amount,
          /** Where it is not the invoice of this attempt that was paid, but another one of the order, by a try before. */
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
    /** The watcher saw, during the lease, that the seller does not keep what it promised. */
    RecordPromiseBroken: v1(z.strictObject({ sentence, height })),
  },
})
export type SettlementFact = FactsOf<typeof settlement>
export type SettlementCommand = CommandsOf<typeof settlement>

/** One payment hash is paid for one order: a stream that can be begun once. */
export const payhash = contract('payhash', 'settlement', {
  facts: {
    PayhashClaimed: v1(z.strictObject({ orderId: uuid })),
    PayhashRefused: v1(z.strictObject({ orderId: uuid })),
  },
  commands: { ClaimPayhash: v1(z.strictObject({ orderId: uuid })) },
})
export type PayhashFact = FactsOf<typeof payhash>
export type PayhashCommand = CommandsOf<typeof payhash>
