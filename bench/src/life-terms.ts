import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { fundingScript } from '@penstock/bitcoin/script.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { bookEntry } from '@penstock/testkit/book.ts'
import { attestationOf, candidateOf, orderTermsOf, outpointOf, secretOf } from '@penstock/testkit/order-terms.ts'
import { wishOf } from '@penstock/testkit/quote-wish.ts'

/** What the people, nodes and chain of a benchmark's order say. Its blocks: paid at height 100, funded in block 101. */
export const [HELD_AT, FUNDED_AT] = [100, 101] as const
const EXPIRY = 250
export const RECEIVED_MSAT = '3000000'
export const [outpoint, candidate, terms] = [outpointOf(1), candidateOf(1), orderTermsOf()]
const config = readConfig({})
const { destination, policy, sizeSat, requiredConfirmations, leaseBlocks, platformFeeMsat, leastPlatformFeeMsat } = terms
const { sellerPubkey, sellerAmountMsat, rails } = candidate
export const [paymentHash, payoutHash] = ['a'.repeat(64), 'b'.repeat(64)] as const
export const network = 'regtest' as const
export const limit = { routingFeeLimitPpm: config.routingFeeLimitPpm }
const channelTerms = {
  sellerPubkey,
  buyerPubkey: destination.pubkey,
  capacitySat: sizeSat,
  isPrivate: false,
  rails,
  heldAtHeight: HELD_AT,
  requiredConfirmations,
}
export const attestation = attestationOf(outpoint)
const payout = { createdAt: Date.now(), expirySeconds: 7 * 86_400 }
export const request = encodePaymentRequest(
  {
    network,
    paymentHash: payoutHash,
    amountMsat: BigInt(sellerAmountMsat),
    paymentSecret: 'c'.repeat(64),
    ...payout,
    cltvDelta: 40,
    description: 'payout of an order',
  },
  secretOf(1),
)
export const payoutInvoice = {
  request,
  paymentHash: payoutHash,
  payee: sellerPubkey,
  amountMsat: sellerAmountMsat,
  expiresAt: payout.createdAt + payout.expirySeconds * 1000,
}
export const need = {
  sizeSat,
  destination,
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  leaseBlocks,
  sellerBudgetMsat: sellerAmountMsat,
  sellers: null,
  ranking: 'cheapest',
}
const naming = { attempt: 1, outpoint, attestation, naming: 1 }

const script = fundingScript(sellerPubkey, destination.pubkey)
/** What chain and graph show at a height: a channel that both ends have announced. */
export const evidence = (tipHeight: number): EvidenceData => ({
  tipHeight,
  output: { outpoint, valueSat: sizeSat, script, height: FUNDED_AT, txIndex: 1, spentBy: null },
  attestation,
  attestationSigner: sellerPubkey,
  graph: { capacitySat: sizeSat, nodes: [sellerPubkey, destination.pubkey], shortChannelId: `${FUNDED_AT}x1x0` },
  otherChannelsBetween: false,
  probe: 'not-tried',
})

export const invoice = 'lnbcrt1'.padEnd(300, 'x')
export const holdTerms = {
  issue: 1,
  amountMsat: RECEIVED_MSAT,
  platformFeeMsat,
  leastPlatformFeeMsat,
  cltvDelta: policy.cltvDelta,
  expirySeconds: policy.invoiceExpirySeconds,
  description: 'Lightning channel with 1000000 sat of inbound capacity',
  destination,
  guardBlocks: policy.guardBlocks,
  fundingConfirmsWithinBlocks: policy.fundingConfirmsWithinBlocks,
  payoutConfirmations: policy.payoutConfirmations,
  withheldBlocks: policy.withheldBlocks,
}
export const nodeView = {
  node: candidateOf(3).sellerPubkey,
  keyId: 'k1',
  paymentHash,
  synced: true,
  tipAgeSeconds: 10,
  staleTipSeconds: config.staleTipSeconds,
  inboundSat: 9_000_000n,
  holdExpiryDelta: 12,
}
export const watched = {
  ...naming,
  terms: channelTerms,
  fundingSeenBlocks: policy.fundingSeenBlocks,
  fundingConfirmsWithinBlocks: policy.fundingConfirmsWithinBlocks,
  leaseBlocks,
}
export const wish = wishOf(terms.buyer.accountId, destination)
const entries = [1, 2, 3, 4].map((n) => bookEntry(n, { ...candidate.promises, feeRatePpm: 2000 + n }))
/** A book of four offers, and a rate. */
export const quoting = (now: number): object => {
  const rate = { centsPerBtc: '10000000', at: now, samples: [{ source: 'fixed', centsPerBtc: '10000000', at: now }] }
  const settings = { ...config, newSellerCapSat: 0n }
  const { leaseBlocks: blocks, maxChannelExpiryBlocks: maxLeaseBlocks } = config
  return {
    market: { entries, pricing: { settings, fees: null }, rateNow: { rate }, leaseBlocks: blocks, maxLeaseBlocks },
    settings,
  }
}

export const held = {
  htlcs: [{ amountMsat: RECEIVED_MSAT, expiryHeight: EXPIRY, peer: destination.pubkey }],
  height: HELD_AT,
  receivedMsat: RECEIVED_MSAT,
  crowdedPeer: null,
}
export const heldForOrder = { expiryHeight: EXPIRY, heldAtHeight: HELD_AT, receivedMsat: RECEIVED_MSAT }
export const noted = { ...naming, terms: channelTerms, sellerAmountMsat }
