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
  namingWindow,
  notTooLate,
  outpoint,
  pubkey,
  sentence,
  unnumbered,
  uuid,
  withoutWindow,
} from './shapes.ts'

/** `peer` is null where the node no longer says whose channel it came through. */
const htlc = z.strictObject({ amountMsat: amount, expiryHeight: height, peer: pubkey.nullable() })

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
  /** A seller's share that goes back to the buyer. */
  'owed-to-buyer',
  /** A seller's amount that the operator bears, since the market let the payment go. */
  'operator-loss',
])
const entry = z.strictObject({ account: ledgerAccount, amountMsat: z.string().regex(/^-?(0|[1-9]\d*)$/) })
export type LedgerEntry = z.output<typeof entry>

/** `graph`: the channel is announced, and in our own graph. `probe`: an HTLC of ours went through it to the buyer's node. */
const peerProof = z.enum(['graph', 'probe'])
export type PeerProof = z.output<typeof peerProof>

/** What settlement itself saw of a channel when it decided over the money. */
const proof = z.strictObject({
  outpoint,
  tipHeight: height,
  confirmations: z.int().positive(),
  peer: peerProof.nullable(),
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

/**
 * Why a payout waits. `peer-proof`: nothing that cannot be forged has proven the channel. `spend-unconfirmed`: a spend of
 * the funding is in a mempool; `spend-confirmed`: in a block. `reorg`: the funding is in no block. `terms`: evidence against
 * what was sold. `promise`: the seller takes more for forwarding than it promised. `operator-loss`: the operator has to
 * confirm that it bears what the market let go.
 */
const withholdingCause = z.enum([
  'peer-proof',
  'spend-unconfirmed',
  'spend-confirmed',
  'reorg',
  'terms',
  'promise',
  'operator-loss',
])
export type WithholdingCause = z.output<typeof withholdingCause>

/** Sentences of the first version, which had no cause. */
const CAUSES: readonly (readonly [RegExp, WithholdingCause])[] = [
  [/no longer in a block/, 'reorg'],
  [/has proven the channel/, 'peer-proof'],
  [/waited for a block/, 'spend-unconfirmed'],
  [/spends the output/, 'spend-confirmed'],
]
const withCause = (old: { readonly reason: string }): object => ({
  ...old,
  cause: CAUSES.find(([sentenceOf]) => sentenceOf.test(old.reason))?.[1] ?? 'promise',
})

/** Who is paid: the seller, or the buyer where the seller's share goes back. */
const creditor = z.enum(['seller', 'buyer'])
export type Creditor = z.output<typeof creditor>
/** What an operator decides: `nobody` where the operator bears a loss after all not, since the buyer has its payment back. */
const payoutDecision = z.enum(['seller', 'buyer', 'nobody'])
export type PayoutDecision = z.output<typeof payoutDecision>

/**
 * How the market let a payment go whose channel may stand. `node-gave-back`: our node did by itself. `not-ready`: the node or
 * the chain could not be asked when the guard had to speak. `not-taken-in-time`: settling came too late.
 * `operator-closed`: an operator closed the order after a channel was named.
 */
const lossCause = z.enum(['node-gave-back', 'not-ready', 'not-taken-in-time', 'operator-closed'])
export type LossCause = z.output<typeof lossCause>

/** The operator who acts, as the facts name it. */
const operator = z.string().min(1).max(100)

export const cancelReason = z.enum(['released', 'last-height', 'expired', 'node', 'no-slot'])
export const channelVerdict = z.enum(['wrong', 'spent', 'unconfirmed', 'unproven', 'unnamed'])

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
    HoldHeld: v2(
      z.strictObject({ htlcs: z.array(htlc), expiryHeight: height, heldAtHeight: height, receivedMsat: amount }),
      (old) => old,
    ),
    /** Whether our own node reached the buyer's before an attempt, and at which height. */
    ReachChecked: v1(z.strictObject({ attempt: z.int().positive(), reached: z.boolean(), reason: sentence, height })),
    ReachAsked: v1(z.strictObject({ attempt: z.int().positive() })),
    /** Whether our node reached the buyer's shortly before the last height: a buyer who can be reached can prove a channel. */
    BuyerReachTried: v1(z.strictObject({ height, reached: z.boolean(), reason: sentence })),
    /** What tied the noted outpoint to the two nodes, before the money could be taken by it: it stays, whatever is seen later. */
    PeerProven: v1(z.strictObject({ outpoint, peer: peerProof, height })),
    /** `window`: of the first naming of the seller's turn; this one's where it was the first. */
    OutpointNoted: v3(noted.extend({ window: namingWindow.optional() }), unnumbered, withoutWindow),
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
    CancelRequested: v2(z.strictObject({ reason: cancelReason, verdict: channelVerdict.nullable(), sentence }), (old) => old),
    CancelRefused: v1(z.strictObject({ reason: sentence })),
    /** The node confirmed it. Why is repeated here, for those who only hear of the end. */
    HoldCancelled: v2(
      z.strictObject({ at: instant, reason: cancelReason, verdict: channelVerdict.nullable(), sentence }),
      (old) => old,
    ),
    /** The height at which the guard has to decide: whoever is late asks for the proof once more. */
    LastHeightReached: v1(z.strictObject({ height })),
    LedgerPosted: v1(z.strictObject({ posting: z.string(), entries: z.array(entry).min(2) })),
    PayoutInvoiceOffered: v2(
      z.strictObject({ request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant, creditor }),
      (old: object) => ({ ...old, creditor: 'seller' }),
    ),
    PayoutInvoiceTaken: v1(z.strictObject({ paymentHash: hash })),
    PayoutInvoiceRefused: v1(z.strictObject({ paymentHash: hash, reason: sentence })),
    /** From `untilHeight` on the rule of the cause applies: decision A4a. */
    PayoutWithheld: v2(z.strictObject({ cause: withholdingCause, reason: sentence, untilHeight: height }), withCause),
    /** A cause does not withhold any more: it has gone, its end came, or an operator decided. */
    WithholdingLifted: v1(z.strictObject({ cause: withholdingCause, height, how: z.enum(['gone', 'end-height', 'operator']) })),
    /** An operator decided between seller and buyer, with the evidence on the screen. */
    PayoutDecided: v1(z.strictObject({ to: payoutDecision, by: operator, reason: sentence })),
    /** The seller gets nothing any more; its share is the buyer's. */
    PayableClosed: v1(z.strictObject({ height, reason: sentence })),
    /** The payment was let go, and the channel may stand: until `untilHeight` it is looked for. */
    LossAsked: v1(z.strictObject({ cause: lossCause, untilHeight: height })),
    /** The channel stands, and the operator owes the seller its amount. `peer`: what tied it to the two nodes. */
    LossBorne: v1(z.strictObject({ cause: lossCause, height, peer: peerProof.nullable(), amountMsat: amount })),
    /** Nothing is owed. `by` names the operator who decided so; null where the chain did. */
    LossRefuted: v1(z.strictObject({ height, reason: sentence, by: operator.nullable() })),
    /** An operator has a payout tried again at once. */
    PayoutRetryRequested: v1(z.strictObject({ by: operator, reason: sentence })),
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
    RecordReachTry: v1(z.strictObject({ height, reached: z.boolean(), reason: sentence })),
    RecordIssued: v1(z.strictObject({ invoice: z.string(), expiresAt: instant })),
    /** `crowdedPeer`: through this peer more HTLCs are held already than we allow. */
    RecordHeld: v2(
      z.strictObject({ htlcs: z.array(htlc).min(1), height, receivedMsat: amount, crowdedPeer: pubkey.nullable() }),
      (old) => old,
    ),
    /** `window`: left out for the first outpoint of a seller's turn, and where the seller goes back to an earlier one. */
    NoteOutpoint: v3(
      noted.extend({ fundingSeenBlocks: z.int().positive().optional(), window: namingWindow.optional() }),
      unnumbered,
      withoutWindow,
    ),
    SettleHold: v1(z.strictObject({ outpoint })),
    /** The guard's word on a block: what settlement saw by itself, with no other service in between. */
    Guard: v3(
      z.strictObject({
        height,
        /** What the evidence is about; null where nothing was named. */
        outpoint: outpoint.nullable(),
        evidence: evidence.nullable(),
        /**
         * Before the look began that gave the evidence: money is not moved by an old one. A reading of the monotonic clock of
         * the process that decides, in ms: this command never leaves it.
         */
        lookedAt: instant,
        /**
         * Whether our own node had its blocks, its graph and its channels in use before the look: if not, what it does not
         * show may be there.
         */
        nodeReady: z.boolean(),
      }),
      // Of unknown age, which settlement takes for too old.
      (old: object) => ({ ...old, lookedAt: 0 }),
      // Every look counted as one of a node that has all.
      (old: object) => ({ ...old, nodeReady: true }),
    ),
    /** The last height by the timer: asks for a proof once more, should the guard not have come. */
    LastHeight: v1(z.strictObject({ height })),
    /** `byOperator`: an operator closed the order, whatever its seller has done already. */
    CancelHold: v2(z.strictObject({ sentence, byOperator: z.literal(true).optional() }), (old: object) => old),
    /** The end of the search for a channel whose payment was let go. */
    EndLoss: v1(z.strictObject({ height })),
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
    /** The buyer's own, where the seller's share is owed to it. */
    GiveRefundInvoice: v1(
      z.strictObject({ request: z.string(), paymentHash: hash, payee: pubkey, amountMsat: amount, expiresAt: instant }),
    ),
    DecidePayout: v1(z.strictObject({ to: payoutDecision, by: operator, reason: sentence })),
    RetryPayoutNow: v1(z.strictObject({ by: operator, reason: sentence })),
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
  fromOthers: [
    'IssueHold',
    'CheckReach',
    'NoteOutpoint',
    'SettleHold',
    'CancelHold',
    'GivePayoutInvoice',
    'GiveRefundInvoice',
    'DecidePayout',
    'RetryPayoutNow',
  ],
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
  fromOthers: [],
})
export type PayhashFact = FactsOf<typeof payhash>
export type PayhashCommand = CommandsOf<typeof payhash>
