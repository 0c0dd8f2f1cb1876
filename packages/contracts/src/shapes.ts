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
export const none = z.strictObject({})

export const destination = z.strictObject({ pubkey, sockets: z.array(z.string()) })

/** What a seller promised for an order, copied from its offer when the order was placed. */
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

/** A seller with the offer that would serve an order, and what it gets for it. */
export const candidate = z.strictObject({
  offerId: uuid,
  sellerPubkey: pubkey,
  sellerAccountId: uuid,
  rails: z.boolean(),
  sellerAmountMsat: amount,
  promises,
})
export type Candidate = z.output<typeof candidate>

/** The most that a seller may take for forwarding through the channel that it sold, during its lease. */
export const feeCaps = promises.pick({ baseFeeCapSat: true, feeRateCapPpm: true })
export type FeeCaps = z.output<typeof feeCaps>

/** What a funding transaction costs, in sat by priority, where an offer charges for it. */
export const fundingFees = z.strictObject({ LOW: amount, MEDIUM: amount, HIGH: amount }).nullable()
export type FundingFeesData = z.output<typeof fundingFees>

/** The rate that a price was made of, and where it came from. */
export const rate = z.strictObject({
  centsPerBtc: amount,
  at: instant,
  samples: z.array(z.strictObject({ source: z.string(), centsPerBtc: amount, at: instant })),
})

/** The values in force when an order began; a replay never looks at today's configuration. */
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

/** What a seller's node signs about the channel that it opened. */
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
export type Attestation = z.output<typeof attestation>

/** The terms that a channel is proven against. */
export const channelTerms = z.strictObject({
  sellerPubkey: pubkey,
  buyerPubkey: pubkey,
  capacitySat: amount,
  isPrivate: z.boolean(),
  rails: z.boolean(),
  heldAtHeight: height,
  requiredConfirmations: z.int().positive(),
})
export type ChannelTerms = z.output<typeof channelTerms>

/**
 * Which naming of an outpoint by its order this is: they count up, so that one which arrives late does not take the place
 * of a newer one. 0: told by a version that did not count.
 */
export const naming = z.int().nonnegative()
export const unnumbered = (old: object): object => ({ ...old, naming: 0 })

/** Heights that follow from the first naming of a seller's turn: see naming-window in the package `bitcoin`. */
export const namingWindow = z.strictObject({ seenBefore: height, namedBefore: height, publishUntil: height })

/** A version that knew of no window over the namings of a turn: each naming began one of its own. */
export const withoutWindow = (old: object): object => old

/** A version that did not say whether it was for want of blocks: the order waits, as it did under that version. */
export const notTooLate = (old: object): object => ({ ...old, tooLate: false })
