import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { Attestation, Candidate } from '@penstock/contracts/shapes.ts'

const pubkeyOf = (digit: number) => `02${`${digit}`.repeat(64)}`
const uuidOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`

export const buyerAccount = uuidOf(9)
const buyerPubkey = pubkeyOf(9)
export const stranger = uuidOf(8)

/** Sellers 1 to 3, each with an account, a node and one offer. */
export const candidateOf = (digit: number): Candidate => ({
  offerId: `10000000-0000-4000-8000-00000000000${digit}`,
  sellerPubkey: pubkeyOf(digit),
  sellerAccountId: uuidOf(digit),
  rails: digit === 1,
  sellerAmountMsat: '2500000',
  promises: {
    baseFeeSat: '500',
    feeRatePpm: 2000,
    baseFeeCapSat: '1000',
    feeRateCapPpm: 500,
    minBlockLength: 4320,
    onchainPriority: 'MEDIUM',
    onchainMultiplier: 0,
  },
})

/** An order that any seller may serve; `manual` names the offer of seller 1, who is asked first. */
export const orderTermsOf = (manual = false): OrderTerms => ({
  source: manual ? 'manual' : 'buy',
  buyer: { accountId: buyerAccount, key: null },
  destination: { pubkey: buyerPubkey, sockets: ['127.0.0.1:9735'] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  usdCents: '500',
  sizeSat: '1000000',
  priceSat: '3000',
  platformFeeMsat: '500000',
  leastPlatformFeeMsat: '100000',
  leaseBlocks: 4320,
  requiredConfirmations: 3,
  rate: null,
  lsps: null,
  record: null,
  candidate: candidateOf(1),
  standing: !manual,
  policy: {
    version: 1,
    approvalWindowMs: 86_400_000,
    invoiceExpirySeconds: 3600,
    openWindowMs: 21_600_000,
    maxAttempts: 3,
    requiredConfirmations: 3,
    fundingSeenBlocks: 6,
    fundingConfirmsWithinBlocks: 6,
    cltvDelta: 150,
    guardBlocks: 24,
    payoutConfirmations: 6,
    withheldBlocks: 1008,
  },
})

export const outpointOf = (digit: number): string => `${`${digit}`.repeat(64)}:0`

export const attestationOf = (outpoint: string): Attestation => ({
  outpoint,
  capacitySat: '1000000',
  nodeKeys: [pubkeyOf(1), buyerPubkey],
  channelType: 'anchors',
  pushSat: '0',
  reserveSat: '10000',
  signature: 'd'.repeat(104),
})
