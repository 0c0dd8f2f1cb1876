import type { Need } from '@penstock/contracts/matching.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { HoldTerms } from '@penstock/contracts/settlement.ts'
import type { Candidate, ChannelTerms } from '@penstock/contracts/shapes.ts'
import { satToMsat } from '@penstock/kernel/money.ts'

/** The first term of the sum of heights: the guard's 24 blocks, and six for blocks that come fast. */
const SPARE_BLOCKS = 30
/** Blocks after the funding's first confirmation that the sum always keeps, however few the order asks for. */
const LEAST_CONFIRMATION_BLOCKS = 6

/** Settlement never takes fewer confirmations than ours, whatever a request mirrors. */
export const confirmationsNeeded = ({ requiredConfirmations, policy }: OrderTerms): number =>
  Math.max(requiredConfirmations, policy.requiredConfirmations)

/**
 * The last height at which a seller may broadcast, and so the last at which an attempt may begin. It comes from the sum
 * that made the invoice's CLTV delta: 30 + open windows + funding_confirms_within_blocks
 * + max(confirmations needed, 6). Read backwards from E, the lowest expiry height of the HTLCs: the guard decides at
 * E - 24, six blocks before that are to spare, before those the confirmations have
 * to come, and before them the transaction has its blocks to confirm. The open windows lie before this height.
 * Settlement refuses to note an outpoint above it, by the same sum.
 */
export const openBeforeHeight = (terms: OrderTerms, expiryHeight: number): number =>
  Math.max(
    0,
    expiryHeight -
      SPARE_BLOCKS -
      Math.max(confirmationsNeeded(terms), LEAST_CONFIRMATION_BLOCKS) -
      terms.policy.fundingConfirmsWithinBlocks,
  )

export const holdTerms = ({
  policy,
  priceSat,
  platformFeeMsat,
  leastPlatformFeeMsat,
  sizeSat,
  destination,
}: OrderTerms): HoldTerms => ({
  issue: 1,
  amountMsat: `${satToMsat(BigInt(priceSat))}`,
  platformFeeMsat,
  leastPlatformFeeMsat,
  cltvDelta: policy.cltvDelta,
  expirySeconds: policy.invoiceExpirySeconds,
  description: `Lightning channel with ${sizeSat} sat of inbound capacity`,
  destination,
  guardBlocks: policy.guardBlocks,
  fundingConfirmsWithinBlocks: policy.fundingConfirmsWithinBlocks,
  payoutConfirmations: policy.payoutConfirmations,
  withheldBlocks: policy.withheldBlocks,
})

export const need = (terms: OrderTerms): Need => ({
  sizeSat: terms.sizeSat,
  destination: terms.destination,
  isPrivate: terms.isPrivate,
  // An unannounced channel can only be probed: such orders go to rails sellers.
  railsOnly: terms.railsOnly || terms.isPrivate,
  assetId: terms.assetId,
  sellers: terms.sellers,
  leaseBlocks: terms.leaseBlocks,
  sellerBudgetMsat: `${satToMsat(BigInt(terms.priceSat)) - BigInt(terms.leastPlatformFeeMsat)}`,
  ranking: terms.source === 'lsps1-recommended' ? 'recommended' : 'cheapest',
})

export const channelTerms = (terms: OrderTerms, { sellerPubkey, rails }: Candidate, heldAtHeight: number): ChannelTerms => ({
  sellerPubkey,
  buyerPubkey: terms.destination.pubkey,
  capacitySat: terms.sizeSat,
  isPrivate: terms.isPrivate,
  rails,
  heldAtHeight,
  requiredConfirmations: confirmationsNeeded(terms),
})
