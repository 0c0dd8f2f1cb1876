import { z } from 'zod'
import { defineContract, v1, v2, v3, type CommandsOf, type FactsOf, type TargetOf } from './define.ts'
import { acceptMissingSpendUnknown, evidence } from './settlement.ts'
import {
  attestation,
  channelTerms,
  feeCaps,
  hash,
  height,
  outpointNumber,
  outpoint,
  sentence,
  addOutpointNumber,
  uuid,
  acceptMissingWindow,
} from './shapes.ts'

const attempt = z.int().positive()
const confirmations = z.int().positive()
/** Older watches did not write the attempt of a funding. */
const acceptMissingAttempt = (old: object): object => old
/**
 * The closer of a channel. Both nodes sign a cooperative close, and only they know whose commitment a force close used. The
 * watcher therefore records 'unknown' today. The other values are for a source that gets the closer from one of the nodes.
 */
const closedBy = z.enum(['seller', 'buyer', 'unknown'])
/**
 * The chain port reports that a transaction is in no block and no mempool, but not the reason. A 'vanished' transaction may
 * have been replaced, double-spent or dropped. 'double-spent' is for a source that shows the other transaction.
 */
const failure = z.enum(['never-seen', 'vanished', 'double-spent', 'unconfirmed'])

/** The watch over the channel of an order (the stream's id is the order's). A new outpoint restarts the watch. */
export const channelContract = defineContract('channel', 'channel-watcher', {
  correlates: 'order',
  facts: {
    WatchStarted: v2(
      z.strictObject({
        attempt,
        outpoint,
        terms: channelTerms,
        /** The height at which a chain source without an index starts its search. The channel is younger than the payment. */
        fromHeight: height,
        /** Deadlines: the transaction has to be seen, and to confirm, before a block of this height. */
        seenBefore: height,
        confirmedBefore: height,
        fundingConfirmsWithinBlocks: z.int().positive(),
        leaseBlocks: z.int().positive(),
        feeCaps: feeCaps.optional(),
        outpointNumber,
      }),
      addOutpointNumber,
    ),
    /** `outpointNumber`, here and below, identifies the watch: a return to an earlier outpoint restarts the watch. */
    AttestationKept: v2(z.strictObject({ outpoint, attestation, outpointNumber }), addOutpointNumber),
    /** The mempool or a block contains the output as promised. The fact is recorded again after the transaction was missing. */
    FundingSeen: v3(
      z.strictObject({ outpoint, atHeight: height, outpointNumber, attempt: attempt.optional() }),
      addOutpointNumber,
      acceptMissingAttempt,
    ),
    /** The transaction was seen before, and is now neither in the mempool nor in a block. */
    FundingMissing: v2(
      z.strictObject({ outpoint, tipHeight: height, goneBefore: height, attempt: attempt.optional() }),
      acceptMissingAttempt,
    ),
    FundingConfirmed: v2(z.strictObject({ outpoint, height, shortChannelId: z.string(), outpointNumber }), addOutpointNumber),
    ConfirmationsSeen: v1(z.strictObject({ outpoint, confirmations, tipHeight: height })),
    ConfirmationsReached: v2(z.strictObject({ outpoint, confirmations, tipHeight: height, outpointNumber }), addOutpointNumber),
    /** The transaction left its block. In a lease it has to confirm by `confirmedBefore`; before a lease there is no limit. */
    FundingReorged: v2(
      z.strictObject({ outpoint, tipHeight: height, confirmedBefore: height, outpointNumber }),
      addOutpointNumber,
    ),
    FundingLost: v2(
      z.strictObject({ outpoint, failure, reason: sentence, tipHeight: height, outpointNumber }),
      addOutpointNumber,
    ),
    ChannelProven: v1(z.strictObject({ outpoint, peer: z.enum(['graph', 'probe']), tipHeight: height })),
    ChannelInvalid: v2(
      z.strictObject({ outpoint, code: z.string(), reason: sentence, tipHeight: height, outpointNumber }),
      addOutpointNumber,
    ),
    /** An order starts a lease after its last outpoint, so facts of the lease need no `outpointNumber`. */
    LeaseStarted: v1(z.strictObject({ outpoint, atHeight: height, endsAtHeight: height })),
    /** At most once per lease: our graph shows that the seller's forwarding fees are higher than it promised. */
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
    WatchOutpoint: {
      ...v3(
        z.strictObject({
          attempt,
          outpoint,
          terms: channelTerms,
          attestation: attestation.nullable(),
          fundingSeenBlocks: z.int().positive(),
          fundingConfirmsWithinBlocks: z.int().positive(),
          leaseBlocks: z.int().positive(),
          /** The fees that the seller promised for the lease. Without them the watch compares no fees. */
          feeCaps: feeCaps.optional(),
          outpointNumber,
          /** Settlement's deadline, from the first outpoint of the attempt. Without it the watch computes its own deadline. */
          seenBefore: height.optional(),
        }),
        addOutpointNumber,
        acceptMissingWindow,
      ),
      from: ['order'],
    },
    KeepAttestation: { ...v2(z.strictObject({ outpoint, attestation, outpointNumber }), addOutpointNumber), from: ['order'] },
    /** The outpoint's state in chain and graph at a tip. Without `seesMempool`, absence from the mempool proves nothing. */
    Observe: v2(z.strictObject({ outpoint, evidence, seesMempool: z.boolean() }), acceptMissingSpendUnknown),
    /** The outpoint's state in the mempool between two blocks. It counts only while the transaction is unseen or missing. */
    NoticeFunding: v2(z.strictObject({ outpoint, evidence }), acceptMissingSpendUnknown),
    /** The command of the deadline that marks an open watch. It adds no fact: only observations of the chain apply heights. */
    Recheck: v1(z.strictObject({})),
    StartLease: { ...v1(z.strictObject({ outpoint })), from: ['order'] },
    StopWatch: { ...v1(z.strictObject({ reason: sentence })), from: ['order'] },
  },
  records: {
    WatchOutpoint: ['WatchStarted', 'AttestationKept'],
    KeepAttestation: ['AttestationKept'],
    Observe: [
      'FundingSeen',
      'FundingMissing',
      'FundingConfirmed',
      'ConfirmationsSeen',
      'ConfirmationsReached',
      'FundingReorged',
      'FundingLost',
      'ChannelProven',
      'ChannelInvalid',
      'PromiseBroken',
      'LeaseEnded',
    ],
    NoticeFunding: [
      'FundingSeen',
      'FundingConfirmed',
      'ConfirmationsSeen',
      'ConfirmationsReached',
      'FundingLost',
      'ChannelProven',
      'ChannelInvalid',
    ],
    Recheck: [],
    StartLease: ['LeaseStarted'],
    StopWatch: ['WatchStopped'],
  },
})
export type ChannelFact = FactsOf<typeof channelContract>
export type ChannelCommand = CommandsOf<typeof channelContract>
export type ChannelTarget = TargetOf<typeof channelContract>

/** One channel serves one order, because the first claim of its stream wins. The stream's id is the outpoint. */
export const outpointClaimContract = defineContract('outpoint', 'channel-watcher', {
  relatedTo: { subject: 'order', isClaim: true, field: 'outpoint' },
  facts: {
    OutpointClaimed: v1(z.strictObject({ orderId: uuid, attempt })),
    OutpointClaimRefused: v1(z.strictObject({ orderId: uuid, attempt })),
  },
  commands: { ClaimOutpoint: { ...v1(z.strictObject({ orderId: uuid, attempt })), from: ['order'] } },
  records: {
    ClaimOutpoint: ['OutpointClaimed', 'OutpointClaimRefused'],
  },
})
export type OutpointClaimFact = FactsOf<typeof outpointClaimContract>
export type OutpointClaimCommand = CommandsOf<typeof outpointClaimContract>
export type OutpointClaimTarget = TargetOf<typeof outpointClaimContract>
