import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import { lastBroadcastHeight } from '@penstock/contracts/order/heights.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { HoldTerms } from '@penstock/contracts/settlement.ts'
import type { Candidate, ChannelTermsData } from '@penstock/contracts/shapes.ts'
import { satToMsat } from '@penstock/kernel/money.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'

/** Settlement requires at least the policy's confirmations, even if the order requests fewer. */
export const requiredConfirmationsOf = ({ requiredConfirmations, policy }: OrderTerms): number =>
  Math.max(requiredConfirmations, policy.requiredConfirmations)

/** @returns the last height at which a seller may broadcast its funding; no attempt begins above this height */
export const computeOpenBeforeHeight = (terms: OrderTerms, expiryHeight: number): number =>
  lastBroadcastHeight(expiryHeight, { ...terms.policy, confirmations: requiredConfirmationsOf(terms) })

/** Milliseconds by which the clocks of machines may differ, and in which a gateway withdraws its late order itself. */
const WITHDRAWAL_MS = 10 * SECOND_MS

/** @returns the time after which an order without an invoice ends; undefined if no caller waits for the invoice */
export const computeInvoiceDeadline = ({ invoiceBefore }: OrderTerms): number | undefined =>
  invoiceBefore === undefined ? undefined : invoiceBefore + WITHDRAWAL_MS

export const holdTermsOf = (terms: OrderTerms): HoldTerms => ({
  issue: 1,
  amountMsat: `${satToMsat(BigInt(terms.priceSat))}`,
  platformFeeMsat: terms.platformFeeMsat,
  leastPlatformFeeMsat: terms.leastPlatformFeeMsat,
  cltvDelta: terms.policy.cltvDelta,
  expirySeconds: terms.policy.invoiceExpirySeconds,
  description: `Lightning channel with ${terms.sizeSat} sat of inbound capacity`,
  destination: terms.destination,
  guardBlocks: terms.policy.guardBlocks,
  fundingConfirmsWithinBlocks: terms.policy.fundingConfirmsWithinBlocks,
  payoutConfirmations: terms.policy.payoutConfirmations,
  withheldBlocks: terms.policy.withheldBlocks,
  sold: soldTermsOf(terms),
})

/** The terms that a channel of this order has to meet, for every seller. */
const soldTermsOf = (terms: OrderTerms) => ({
  buyerPubkey: terms.destination.pubkey,
  capacitySat: terms.sizeSat,
  isPrivate: terms.isPrivate,
  requiredConfirmations: requiredConfirmationsOf(terms),
})

export const needOf = (terms: OrderTerms): OrderRequirements => ({
  sizeSat: terms.sizeSat,
  destination: terms.destination,
  isPrivate: terms.isPrivate,
  // Only a probe can prove a private channel, so these orders go to rails sellers.
  railsOnly: terms.railsOnly || terms.isPrivate,
  assetId: terms.assetId,
  sellers: terms.sellers,
  leaseBlocks: terms.leaseBlocks,
  sellerBudgetMsat: `${satToMsat(BigInt(terms.priceSat)) - BigInt(terms.leastPlatformFeeMsat)}`,
  ranking: terms.source === 'lsps1-recommended' ? 'recommended' : 'cheapest',
})

export const channelTermsOf = (
  terms: OrderTerms,
  { sellerPubkey, rails }: Candidate,
  heldAtHeight: number,
): ChannelTermsData => ({
  ...soldTermsOf(terms),
  sellerPubkey,
  rails,
  heldAtHeight,
})
