import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { fundingScript } from '@penstock/bitcoin/script.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import { readConfig } from '@penstock/config/config.ts'
import { createBookEntry } from '@penstock/testkit/book-entries.ts'
import {
  createAttestation,
  createCandidate,
  createOrderTerms,
  createOutpoint,
  secretKeyFor,
} from '@penstock/testkit/order-terms.ts'
import { createQuoteRequest } from '@penstock/testkit/quote-request.ts'

/** Fixed data of the order, its accounts, its nodes and the chain. The order is paid at height 100 and funded in block 101. */
export const [HELD_AT, FUNDED_AT] = [100, 101] as const
const EXPIRY_HEIGHT = 250
export const RECEIVED_MSAT = '3000000'
export const [outpoint, candidate, terms] = [createOutpoint(1), createCandidate(1), createOrderTerms()]
const config = readConfig({})
const { destination, policy, sizeSat, requiredConfirmations, leaseBlocks, platformFeeMsat, leastPlatformFeeMsat } = terms
const { sellerPubkey, sellerAmountMsat, rails } = candidate
export const [paymentHash, payoutHash] = ['a'.repeat(64), 'b'.repeat(64)] as const
export const lifecycleNetwork = 'regtest' as const
export const feeLimitData = { routingFeeLimitPpm: config.routingFeeLimitPpm }
const channelTerms = {
  sellerPubkey,
  buyerPubkey: destination.pubkey,
  capacitySat: sizeSat,
  isPrivate: false,
  rails,
  heldAtHeight: HELD_AT,
  requiredConfirmations,
}
export const lifecycleAttestation = createAttestation(outpoint)
const payoutTimes = { createdAt: Date.now(), expirySeconds: 7 * 86_400 }
export const payoutRequest = encodePaymentRequest(
  {
    network: lifecycleNetwork,
    paymentHash: payoutHash,
    amountMsat: BigInt(sellerAmountMsat),
    paymentSecret: 'c'.repeat(64),
    ...payoutTimes,
    cltvDelta: 40,
    description: 'payout of an order',
  },
  secretKeyFor(1),
)
export const payoutInvoiceData = {
  request: payoutRequest,
  paymentHash: payoutHash,
  payee: sellerPubkey,
  amountMsat: sellerAmountMsat,
  expiresAt: payoutTimes.createdAt + payoutTimes.expirySeconds * 1000,
}
export const findSellerNeed = {
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
const outpointSubmission = { attempt: 1, outpoint, attestation: lifecycleAttestation, outpointNumber: 1 }

const channelScript = fundingScript(sellerPubkey, destination.pubkey)
/** Creates evidence of the chain and the graph at a height, for a channel that both nodes have announced. */
export const createChannelEvidence = (tipHeight: number): EvidenceData => ({
  tipHeight,
  output: { outpoint, valueSat: sizeSat, script: channelScript, height: FUNDED_AT, txIndex: 1, spentBy: null },
  attestation: lifecycleAttestation,
  attestationSigner: sellerPubkey,
  graph: { capacitySat: sizeSat, nodes: [sellerPubkey, destination.pubkey], shortChannelId: `${FUNDED_AT}x1x0` },
  otherChannelsBetween: false,
  probe: 'not-tried',
})

export const lifecycleInvoice = 'lnbcrt1'.padEnd(300, 'x')
export const issueHoldData = {
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
export const nodeViewData = {
  node: createCandidate(3).sellerPubkey,
  keyId: 'k1',
  paymentHash,
  synced: true,
  tipAgeSeconds: 10,
  staleTipSeconds: config.staleTipSeconds,
  inboundSat: 9_000_000n,
  holdExpiryDelta: 12,
}
export const watchOutpointData = {
  ...outpointSubmission,
  terms: channelTerms,
  fundingSeenBlocks: policy.fundingSeenBlocks,
  fundingConfirmsWithinBlocks: policy.fundingConfirmsWithinBlocks,
  leaseBlocks,
}
export const requestQuoteData = createQuoteRequest(terms.buyer.accountId, destination)
const entries = [1, 2, 3, 4].map((n) => createBookEntry(n, { ...candidate.promises, feeRatePpm: 2000 + n }))
/** Creates an order book of four offers, and an exchange rate. */
export const createQuoteEnrichment = (now: number): object => {
  const rate = { centsPerBtc: '10000000', at: now, samples: [{ source: 'fixed', centsPerBtc: '10000000', at: now }] }
  const settings = { ...config, newSellerCapSat: 0n }
  const { leaseBlocks: blocks, maxChannelExpiryBlocks: maxLeaseBlocks } = config
  return {
    market: { entries, pricing: { settings, fees: null }, currentRate: { rate }, leaseBlocks: blocks, maxLeaseBlocks },
    settings,
  }
}

export const recordHeldData = {
  htlcs: [{ amountMsat: RECEIVED_MSAT, expiryHeight: EXPIRY_HEIGHT, peer: destination.pubkey }],
  height: HELD_AT,
  receivedMsat: RECEIVED_MSAT,
  crowdedPeer: null,
}
export const recordHoldHeldData = { expiryHeight: EXPIRY_HEIGHT, heldAtHeight: HELD_AT, receivedMsat: RECEIVED_MSAT }
export const registerOutpointData = { ...outpointSubmission, terms: channelTerms, sellerAmountMsat }
