import { z } from 'zod'

/** Shapes that many messages share. Amounts are decimal strings, since JSON has no bigint. */
export const uuid = z.uuid()
export const amount = z.string().regex(/^(0|[1-9]\d{0,18})$/, 'a whole number without sign, as a string')
export const instant = z.int().nonnegative()
export const height = z.int().nonnegative()
export const pubkey = z.string().regex(/^0[23][0-9a-f]{64}$/, 'a compressed public key in lower-case hex')
export const hash = z.string().regex(/^[0-9a-f]{64}$/, '32 bytes in lower-case hex')
export const outpoint = z.string().regex(/^[0-9a-f]{64}:\d{1,10}$/, '<txid>:<vout>')
export const sentence = z.string().min(1).max(1000)
export const noData = z.strictObject({})

export const destination = z.strictObject({ pubkey, sockets: z.array(z.string()) })

/** A seller's promises for an order, copied from its offer when the order was placed. */
export const promises = z.strictObject({
  baseFeeSat: amount,
  feeRatePpm: z.int().nonnegative(),
  baseFeeCapSat: amount,
  feeRateCapPpm: z.int().nonnegative(),
  minBlockLength: z.int().nonnegative(),
  onchainPriority: z.enum(['LOW', 'MEDIUM', 'HIGH']),
  onchainMultiplier: z.number().min(0).max(5),
})
export type Promises = z.output<typeof promises>

/** A seller with the offer that would serve an order, and the amount that it would get. */
export const candidate = z.strictObject({
  offerId: uuid,
  sellerPubkey: pubkey,
  sellerAccountId: uuid,
  rails: z.boolean(),
  sellerAmountMsat: amount,
  promises,
})
export type Candidate = z.output<typeof candidate>

/** The highest fees that a seller may charge for forwarding through the channel that it sold, during its lease. */
export const feeCaps = promises.pick({ baseFeeCapSat: true, feeRateCapPpm: true })
export type FeeCaps = z.output<typeof feeCaps>

/** The cost of a funding transaction in sat by priority; null if it is unknown or no offer charges for it. */
export const fundingFees = z.strictObject({ LOW: amount, MEDIUM: amount, HIGH: amount }).nullable()
export type FundingFeesData = z.output<typeof fundingFees>

/** The exchange rate behind a price, with its samples. */
export const rate = z.strictObject({
  centsPerBtc: amount,
  at: instant,
  samples: z.array(z.strictObject({ source: z.string(), centsPerBtc: amount, at: instant })),
})

/** The settings in force when an order began. A replay uses them instead of the current configuration. */
export const policy = z.strictObject({
  version: z.literal(1),
  approvalWindowMs: z.int().positive(),
  invoiceExpirySeconds: z.int().positive(),
  openWindowMs: z.int().positive(),
  maxAttempts: z.int().positive(),
  requiredConfirmations: z.int().positive(),
  fundingSeenBlocks: z.int().positive(),
  fundingConfirmsWithinBlocks: z.int().positive(),
  cltvDelta: z.int().positive(),
  guardBlocks: z.int().positive(),
  payoutConfirmations: z.int().positive(),
  withheldBlocks: z.int().positive(),
})
export type Policy = z.output<typeof policy>

/** A seller node's signed statement about the channel that it opened. */
export const attestation = z.strictObject({
  outpoint,
  capacitySat: amount,
  nodeKeys: z.tuple([pubkey, pubkey]),
  fundingKeys: z.tuple([pubkey, pubkey]).optional(),
  channelType: z.string().max(64),
  pushSat: amount,
  reserveSat: amount,
  signature: z.string().max(256),
})
export type AttestationData = z.output<typeof attestation>

/** The terms that a channel has to meet. */
export const channelTerms = z.strictObject({
  sellerPubkey: pubkey,
  buyerPubkey: pubkey,
  capacitySat: amount,
  isPrivate: z.boolean(),
  rails: z.boolean(),
  heldAtHeight: height,
  requiredConfirmations: z.int().positive(),
})
export type ChannelTermsData = z.output<typeof channelTerms>

/**
 * The number of an outpoint within its order. It grows with each submitted outpoint, so that a late message does not replace a
 * newer outpoint. 0: from a version that did not count.
 */
export const outpointNumber = z.int().nonnegative()
export const addOutpointNumber = (old: object): object => ({ ...old, outpointNumber: 0 })

/** Heights that follow from the first outpoint of an attempt: see submission-window in the package `bitcoin`. */
export const submissionWindow = z.strictObject({ seenBefore: height, namedBefore: height, publishUntil: height })

/** Older versions had no common window per attempt: each outpoint started its own. */
export const acceptMissingWindow = (old: object): object => old

/**
 * The time at which the caller stops waiting for the invoice. No invoice is made after that time. The field is missing if
 * the seller has to approve the order first, or in messages of older versions.
 */
export const invoiceBefore = instant.optional()
export const acceptMissingInvoiceBefore = (old: object): object => old

/** Older versions did not report if too few blocks were left. The order waits, as in those versions. */
export const addTooLate = (old: object): object => ({ ...old, tooLate: false })
