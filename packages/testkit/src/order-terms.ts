import { formatChannelAttestation } from '@penstock/bitcoin/attestation.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey as pubkeyOfSecret } from '@penstock/bitcoin/pubkey.ts'
import type { OrderTerms } from '@penstock/contracts/order.ts'
import type { AttestationData, Candidate } from '@penstock/contracts/shapes.ts'

/** The secret key of the node with this digit: 1 to 3 are sellers, 9 is the buyer. */
export const secretKeyFor = (digit: number): Uint8Array => new Uint8Array(32).fill(digit)
const pubkeyOf = (digit: number) => pubkeyOfSecret(secretKeyFor(digit))
const uuidOf = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`

export const buyerAccountId = uuidOf(9)
const buyerPubkey = pubkeyOf(9)
export const strangerAccountId = uuidOf(8)

/** Sellers 1 to 3, each with an account, a node and one offer. */
export const createCandidate = (digit: number): Candidate => ({
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

/** An order that any seller may serve. With `manual` it is for the offer of seller 1, who has to approve it first. */
export const createOrderTerms = (manual = false): OrderTerms => ({
  source: manual ? 'manual' : 'buy',
  buyer: { accountId: buyerAccountId, key: null },
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
  candidate: createCandidate(1),
  autoAccepted: !manual,
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

export const createOutpoint = (digit: number): string => `${`${digit}`.repeat(64)}:0`

/** A true attestation, signed by the node of seller `digit`. `overrides` replaces signed fields, for false statements. */
export function createAttestation(outpoint: string, digit = 1, overrides: Partial<AttestationData> = {}): AttestationData {
  const attested = {
    outpoint,
    capacitySat: '1000000',
    nodeKeys: [pubkeyOf(digit), buyerPubkey] as [string, string],
    channelType: 'anchors',
    pushSat: '0',
    reserveSat: '10000',
    ...overrides,
  }
  const { capacitySat, pushSat, reserveSat, fundingKeys, ...texts } = attested
  const amounts = { capacitySat: BigInt(capacitySat), pushSat: BigInt(pushSat), reserveSat: BigInt(reserveSat) }
  const text = formatChannelAttestation({ ...texts, ...amounts, ...(fundingKeys && { fundingKeys }) })
  return { signature: signMessage(secretKeyFor(digit), text), ...attested }
}
