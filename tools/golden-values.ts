import { createHash } from 'node:crypto'
import { encodePaymentRequest } from '../packages/bitcoin/src/bolt11.ts'
import { signMessage } from '../packages/bitcoin/src/message-signature.ts'
import { derivePubkey } from '../packages/bitcoin/src/pubkey.ts'
import { fundingScript } from '../packages/bitcoin/src/script.ts'

/**
 * Values of the golden files: one order for a million sat, with public keys on the curve, a decodable invoice and a valid
 * signature. Hashes and keys are derived from fixed words, so each run gives the same values.
 */
const deriveHash = (words: string): string => createHash('sha256').update(words).digest('hex')
const deriveUuid = (words: string): string =>
  deriveHash(words).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, (_all, a, b, c, d, e) => `${a}-${b}-4${c}-8${d}-${e}`)
const deriveSecretKey = (words: string): Buffer => createHash('sha256').update(words).digest()
const deriveGoldenPubkey = (words: string): string => derivePubkey(deriveSecretKey(words))

const at = Date.UTC(2026, 10, 20, 12)
const hours = (count: number): number => at + count * 3_600_000
const days = (count: number): number => hours(24 * count)
const seller = deriveGoldenPubkey('seller')
const buyer = deriveGoldenPubkey('buyer')
const market = deriveGoldenPubkey('market')
const paymentHash = deriveHash('preimage')
const outpoint = `${deriveHash('funding')}:1`

const createPaymentRequest = (payee: string, amountMsat: bigint, description: string): string =>
  encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash,
      amountMsat,
      paymentSecret: deriveHash('payment secret'),
      createdAt: at,
      expirySeconds: 3600,
      cltvDelta: 150,
      description,
    },
    deriveSecretKey(payee),
  )

/** Values by field name, for every message. A list has the values for the places of a tuple, or for the entries of an array. */
export const goldenValues: Readonly<Record<string, string | number | readonly string[]>> = {
  // Identities
  pubkey: seller,
  sellerPubkey: seller,
  payee: seller,
  attestationSigner: seller,
  buyerPubkey: buyer,
  peer: buyer,
  crowdedPeer: buyer,
  node: market,
  nodeKeys: [seller, buyer],
  nodes: [seller, buyer],
  fundingKeys: [deriveGoldenPubkey('funding of the seller'), deriveGoldenPubkey('funding of the buyer')],
  sellers: seller,
  sockets: '127.0.0.1:9735',
  by: 'operator',
  keyId: 'key-1',
  prefix: 'pk_4f9a',
  suffix: '7c1e',
  token: 'spring-campaign',
  challenge: `penstock:${deriveUuid('challenge')}`,
  signature: signMessage(deriveSecretKey('seller'), 'attestation'),
  // Objects and texts
  outpoint,
  txid: deriveHash('spending'),
  spentBy: deriveHash('spending'),
  script: fundingScript(deriveGoldenPubkey('funding of the seller'), deriveGoldenPubkey('funding of the buyer')),
  channelId: '820145x2x1',
  shortChannelId: '820145x2x1',
  channelType: 'anchors',
  hash: deriveHash('record'),
  paymentHash,
  invoice: createPaymentRequest('market', 3_000_000n, 'Inbound liquidity: 1000000 sat'),
  request: createPaymentRequest('seller', 2_500_000n, 'Payout'),
  description: 'Inbound liquidity: 1000000 sat',
  assetId: 'usd-token',
  posting: 'received',
  key: outpoint,
  code: 'spent',
  condition: 'NODE_CHANNELS',
  value: '10',
  what: 'late-payment',
  detail: 'The payout was tried three times.',
  reason: 'The channel was not opened in time.',
  sentence: 'No channel was proven before the last height.',
  source: 'exchange-a',
  // Amounts
  sizeSat: '1000000',
  capacitySat: '1000000',
  valueSat: '1000000',
  lspBalanceSat: '1000000',
  clientBalanceSat: '0',
  totalSizeSat: '50000000',
  minSizeSat: '100000',
  maxSizeSat: '10000000',
  confirmedSat: '20000000',
  pushSat: '0',
  reserveSat: '10000',
  usdCents: '500',
  usdPerUsd: '0.03',
  satsPerUsd: '200000',
  centsPerBtc: '9650000',
  priceSat: '3000',
  receivedMsat: '3000000',
  amount: '2500',
  amountMsat: '2500000',
  sellerAmountMsat: '2500000',
  sellerBudgetMsat: '2900000',
  platformFeeMsat: '500000',
  leastPlatformFeeMsat: '100000',
  maxFeeMsat: '12500',
  feeMsat: '1250',
  baseFeeMsat: '500000',
  baseFeeSat: '500',
  baseFeeCapSat: '1000',
  feeRatePpm: 2000,
  feeRateCapPpm: 500,
  onchainMultiplier: 1.5,
  LOW: '160',
  MEDIUM: '480',
  HIGH: '1120',
  // Timestamps and durations
  at,
  issuedAt: at,
  outcomeAt: hours(1),
  settledAt: hours(2),
  observedAt: hours(2),
  lastSeenAt: at,
  deadline: hours(6),
  approveBefore: days(1),
  invoiceBefore: hours(1),
  placeBefore: hours(1),
  openBefore: hours(6),
  expiresAt: hours(1),
  tokenExpiresAt: days(30),
  challengeExpiresAt: hours(1),
  validUntil: hours(1),
  previousValidUntil: days(1),
  since: at,
  httpStatus: 410,
  retryAt: hours(1),
  approvalWindowMs: 86_400_000,
  openWindowMs: 21_600_000,
  invoiceExpirySeconds: 3600,
  expirySeconds: 3600,
  // Heights and counts of blocks
  height: 820_145,
  atHeight: 820_145,
  tipHeight: 820_148,
  heldAtHeight: 820_140,
  fromHeight: 820_140,
  seenBefore: 820_146,
  namedBefore: 820_146,
  publishUntil: 820_146,
  goneBefore: 820_150,
  confirmedBefore: 820_152,
  openBeforeHeight: 820_248,
  expiryHeight: 820_290,
  untilHeight: 821_156,
  endsAtHeight: 824_465,
  txIndex: 2,
  confirmations: 3,
  requiredConfirmations: 3,
  requiredChannelConfirmations: 3,
  payoutConfirmations: 6,
  fundingSeenBlocks: 6,
  fundingConfirmsWithinBlocks: 8,
  cltvDelta: 150,
  guardBlocks: 24,
  withheldBlocks: 1008,
  leaseBlocks: 4320,
  channelExpiryBlocks: 4320,
  minBlockLength: 4320,
  // Counters
  attempt: 1,
  outpointNumber: 1,
  maxAttempts: 3,
  issue: 1,
  round: 1,
  check: 2,
  requestNumber: 1,
  version: 1,
}

/** Values to try if the value for a name does not fit the schema: `by`, for instance, can be an account or an operator. */
export const patternValues: readonly ((name: string) => string)[] = [
  (name) => deriveUuid(name),
  (name) => deriveHash(name),
  (name) => deriveGoldenPubkey(name),
  () => outpoint,
]
