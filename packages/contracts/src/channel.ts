import { z } from 'zod'
import { contract, v1, v2, v3, type CommandsOf, type FactsOf } from './define.ts'
import { evidence } from './settlement.ts'
import {
  attestation,
  channelTerms,
  feeCaps,
  hash,
  height,
  naming,
  outpoint,
  sentence,
  unnumbered,
  uuid,
  withoutWindow,
} from './shapes.ts'

const attempt = z.int().positive()
const confirmations = z.int().positive()
/**
 * Both ends sign a closing transaction, and a force close shows only to its own two nodes whose commitment it was, so the
 * watcher says 'unknown' today. The other two are for whoever learns it from one of the nodes.
 */
const closedBy = z.enum(['seller', 'buyer', 'unknown'])
/**
 * The chain port tells that a transaction is in no block and no mempool, not why: what is 'vanished' may have been replaced,
 * double-spent or dropped. 'double-spent' is for a source that shows the other transaction.
 */
const failure = z.enum(['never-seen', 'vanished', 'double-spent', 'unconfirmed'])

/** The watch over the channel of an order (the stream's id is the order's). A new outpoint begins the watch again. */
export const channel = contract('channel', 'channel-watcher', {
  facts: {
    WatchStarted: v2(
      z.strictObject({
        attempt,
        outpoint,
        terms: channelTerms,
        /** Where a source without an index begins to look: the channel is younger than the payment. */
        fromHeight: height,
        /** Heights at which it is too late: a block of this height came, and the transaction was not seen, or not confirmed. */
        seenBefore: height,
        confirmedBefore: height,
        fundingConfirmsWithinBlocks: z.int().positive(),
        leaseBlocks: z.int().positive(),
        feeCaps: feeCaps.optional(),
        naming,
      }),
      unnumbered,
    ),
    /** `naming`, here and below: of the watch that tells it. A seller may go back to an outpoint, and begin its watch anew. */
    AttestationKept: v2(z.strictObject({ outpoint, attestation, naming }), unnumbered),
    /** In the mempool or a block, the output as promised; again after it was missing. */
    FundingSeen: v2(z.strictObject({ outpoint, atHeight: height, naming }), unnumbered),
    /** Seen before, and now neither in the mempool nor in a block. */
    FundingMissing: v1(z.strictObject({ outpoint, tipHeight: height, goneBefore: height })),
    FundingConfirmed: v2(z.strictObject({ outpoint, height, shortChannelId: z.string(), naming }), unnumbered),
    ConfirmationsSeen: v1(z.strictObject({ outpoint, confirmations, tipHeight: height })),
    ConfirmationsReached: v2(z.strictObject({ outpoint, confirmations, tipHeight: height, naming }), unnumbered),
    /** No longer in the block that confirmed it. By `confirmedBefore` a lease ends without it; before a lease it is never late. */
    FundingReorged: v2(z.strictObject({ outpoint, tipHeight: height, confirmedBefore: height, naming }), unnumbered),
    FundingLost: v2(z.strictObject({ outpoint, failure, reason: sentence, tipHeight: height, naming }), unnumbered),
    ChannelProven: v1(z.strictObject({ outpoint, peer: z.enum(['graph', 'probe']), tipHeight: height })),
    ChannelWrong: v2(z.strictObject({ outpoint, code: z.string(), reason: sentence, tipHeight: height, naming }), unnumbered),
    /** A lease begins at the word of an order whose naming is its last, so that its facts need no number. */
    LeaseStarted: v1(z.strictObject({ outpoint, atHeight: height, endsAtHeight: height })),
    /** Once a lease: our graph shows that the seller takes more for forwarding than it promised. */
    PromiseBroken: v1(
      z.strictObject({ attempt, outpoint, what: z.enum(['base-fee', 'fee-rate']), reason: sentence, tipHeight: height }),
    ),
    LeaseEnded: v1(
      z.strictObject({
        outpoint,
        early: z.boolean(),
        closedBy: closedBy.nullable(),
        spentBy: hash.nullable(),
        tipHeight: height,
      }),
    ),
    WatchStopped: v1(z.strictObject({ reason: sentence })),
  },
  commands: {
    WatchOutpoint: v3(
      z.strictObject({
        attempt,
        outpoint,
        terms: channelTerms,
        attestation: attestation.nullable(),
        fundingSeenBlocks: z.int().positive(),
        fundingConfirmsWithinBlocks: z.int().positive(),
        leaseBlocks: z.int().positive(),
        /** What the seller promised for the lease; without them nothing is compared. */
        feeCaps: feeCaps.optional(),
        naming,
        /** From the first naming of the attempt, as settlement told it; without it the watch counts by itself. */
        seenBefore: height.optional(),
      }),
      unnumbered,
      withoutWindow,
    ),
    KeepAttestation: v2(z.strictObject({ outpoint, attestation, naming }), unnumbered),
    /** What the chain and our node show of the outpoint at a tip. A source that sees no mempool cannot miss anything in it. */
    Observe: v1(z.strictObject({ outpoint, evidence, seesMempool: z.boolean() })),
    /** The mempool between two blocks: it counts only while the transaction is waited for. */
    NoticeFunding: v1(z.strictObject({ outpoint, evidence })),
    /** The marker of a watch that goes on: it adds nothing, since every look at the chain keeps the heights by itself. */
    Recheck: v1(z.strictObject({})),
    StartLease: v1(z.strictObject({ outpoint })),
    StopWatch: v1(z.strictObject({ reason: sentence })),
  },
  fromOthers: ['WatchOutpoint', 'KeepAttestation', 'StartLease', 'StopWatch'],
})
export type ChannelFact = FactsOf<typeof channel>
export type ChannelCommand = CommandsOf<typeof channel>

/** One channel serves one order: a stream that can be begun once. Its id is the outpoint. */
export const outpointClaim = contract('outpoint', 'channel-watcher', {
  facts: {
    OutpointClaimed: v1(z.strictObject({ orderId: uuid, attempt })),
    OutpointClaimRefused: v1(z.strictObject({ orderId: uuid, attempt })),
  },
  commands: { ClaimOutpoint: v1(z.strictObject({ orderId: uuid, attempt })) },
  fromOthers: ['ClaimOutpoint'],
})
export type OutpointClaimFact = FactsOf<typeof outpointClaim>
export type OutpointClaimCommand = CommandsOf<typeof outpointClaim>
