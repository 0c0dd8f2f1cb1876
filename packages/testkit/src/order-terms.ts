import { attestationText } from '@penstock/bitcoin/attestation.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { pubkeyOf as pubkeyOfSecret } from '@penstock/bitcoin/pubkey.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { Attestation, Candidate } from '@penstock/contracts/shapes.ts'

/** The key of the node with this digit: sellers 1 to 3, the buyer 9. */
export const secretOf = (digit: number): Uint8Array => new Uint8Array(32).fill(digit)
const pubkeyOf = (digit: number) => pubkeyOfSecret(secretOf(digit))
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

/** What the node of seller `digit` truly signs about its channel; `more`: what it says otherwise. */
export function attestationOf(outpoint: string, digit = 1, more: Partial<Attestation> = {}): Attestation {
  const said = {
    outpoint,
    capacitySat: '1000000',
    nodeKeys: [pubkeyOf(digit), buyerPubkey] as [string, string],
    channelType: 'anchors',
    pushSat: '0',
    reserveSat: '10000',
    ...more,
  }
  const { capacitySat, pushSat, reserveSat, fundingKeys, ...texts } = said
  const amounts = { capacitySat: BigInt(capacitySat), pushSat: BigInt(pushSat), reserveSat: BigInt(reserveSat) }
  const text = attestationText({ ...texts, ...amounts, ...(fundingKeys && { fundingKeys }) })
  return { signature: sign(secretOf(digit), text), ...said }
}
