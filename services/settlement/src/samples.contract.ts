import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { fundingScript } from '@penstock/bitcoin/script.ts'
import {
  settlement as contract,
  type EvidenceData,
  type HoldTerms,
  type NotedOutpoint,
  type SettlementFact,
} from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { settlement } from './settlement.ts'
import type { NodeView, Settlement } from './state.ts'

/** What the tests of this service share: one order's facts, in the order in which they happen. */
type FactOf<T extends SettlementFact['type']> = Extract<SettlementFact, { type: T }>
export const fact = <T extends SettlementFact['type']>(type: T, data: FactOf<T>['data']): FactOf<T> =>
  ({ type, v: contract.facts[type].v, data }) as FactOf<T> // the pair that was asked for

const key = (byte: number): string => pubkeyOf(new Uint8Array(32).fill(byte))
const sellerSecret = new Uint8Array(32).fill(1)
const buyer = key(2)
export const [seller, node, stranger] = [key(1), key(3), key(9)]
export const ORDER = '018f3c1e-0000-7000-8000-000000000001'
export const NOW = 1_795_000_000_000
export const HASH = 'ab'.repeat(32)
export const OUTPOINT = `${'cd'.repeat(32)}:1`
export const EXPIRES = NOW + 3_600_000
/** E; the guard decides at 976. */
export const E = 1000
export const HELD_AT = 850
export const SELLER_MSAT = 4_000_000n

export const terms: HoldTerms = {
  issue: 1,
  amountMsat: '5000000',
  platformFeeMsat: '900000',
  leastPlatformFeeMsat: '180000',
  cltvDelta: 150,
  expirySeconds: 3600,
  description: 'an order',
  destination: { pubkey: buyer, sockets: ['buyer.sim:9735'] },
  guardBlocks: 24,
  fundingConfirmsWithinBlocks: 6,
  payoutConfirmations: 6,
  withheldBlocks: 1008,
}
export const nodeView: NodeView = {
  node,
  keyId: 'k1',
  paymentHash: HASH,
  synced: true,
  tipAgeSeconds: 10,
  staleTipSeconds: 7200,
  inboundSat: 1_000_000n,
  holdExpiryDelta: 12,
}
export const htlc = { amountMsat: '5000000', expiryHeight: E, peer: stranger }
export const held = { htlcs: [htlc], height: HELD_AT, receivedMsat: '5000000' }
/** Of an outpoint that neither chain nor mempool has. */
export const unseen = { seesMempool: true, confirmedAtHeight: null, enteredMempoolAt: null, heldSince: {} } as const
export const noted: NotedOutpoint = {
  attempt: 1,
  outpoint: OUTPOINT,
  terms: {
    sellerPubkey: seller,
    buyerPubkey: buyer,
    capacitySat: '1000000',
    isPrivate: false,
    rails: false,
    heldAtHeight: HELD_AT,
    requiredConfirmations: 3,
  },
  sellerAmountMsat: `${SELLER_MSAT}`,
  attestation: null,
  naming: 1,
}
export const attestation = {
  outpoint: OUTPOINT,
  capacitySat: '1000000',
  nodeKeys: [seller, buyer] as [string, string],
  channelType: 'anchors',
  pushSat: '0',
  reserveSat: '10000',
  signature: 'y',
}

export const proof = { outpoint: OUTPOINT, tipHeight: 903, confirmations: 3, peer: 'graph', withheld: false } as const

export const requested = fact('HoldRequested', { ...terms, keyId: 'k1', node, paymentHash: HASH })
export const issued = fact('HoldIssued', { paymentHash: HASH, keyId: 'k1', node, invoice: 'lnbcrt1', expiresAt: EXPIRES })
export const isHeld = fact('HoldHeld', { htlcs: [htlc], expiryHeight: E, heldAtHeight: HELD_AT, receivedMsat: '5000000' })
export const isNoted = fact('OutpointNoted', noted)
export const settleAsked = fact('SettleAsked', { outpoint: OUTPOINT })
export const settleRequested = fact('SettleRequested', { proof, lastHeight: false })
export const settleMissed = fact('SettleMissed', { height: E - 12, sentence: 'Too few blocks were left.' })
export const settled = fact('HoldSettled', { settledAt: NOW, receivedMsat: '5000000', confirmations: 3 })
export const posted = fact('LedgerPosted', {
  posting: 'settled',
  entries: [
    { account: 'received', amountMsat: '5000000' },
    { account: 'payable', amountMsat: '-4000000' },
    { account: 'platform-fee', amountMsat: '-900000' },
    { account: 'price-difference', amountMsat: '-100000' },
  ],
})
export const released = { reason: 'released', verdict: null, sentence: 'The seller gave up.' } as const
export const cancelRequested = fact('CancelRequested', released)
export const cancelled = fact('HoldCancelled', { at: NOW, ...released })

export const toOpen: readonly SettlementFact[] = [requested, issued]
export const toHeld: readonly SettlementFact[] = [...toOpen, isHeld]
export const toNoted: readonly SettlementFact[] = [...toHeld, isNoted]
export const toSettling: readonly SettlementFact[] = [...toNoted, settleAsked, settleRequested]
export const toSettled: readonly SettlementFact[] = [...toSettling, settled, posted]

/** A channel in block 901 that everything proves; `tipHeight` 903 is its third confirmation. */
export const evidence = (
  change: Partial<EvidenceData> = {},
  output: Partial<NonNullable<EvidenceData['output']>> = {},
): EvidenceData => ({
  tipHeight: 903,
  output: {
    outpoint: OUTPOINT,
    valueSat: '1000000',
    script: fundingScript(key(4), key(5)),
    height: 901,
    txIndex: 1,
    spentBy: null,
    ...output,
  },
  attestation: null,
  attestationSigner: null,
  graph: { capacitySat: '1000000', nodes: [seller, buyer], shortChannelId: '901x1x1' },
  otherChannelsBetween: false,
  probe: 'not-tried',
  ...change,
})
export const limit = { routingFeeLimitPpm: 5000 }
export const guard = (height: number, seen: EvidenceData | null, outpoint: string | null = OUTPOINT, nodeReady = true) =>
  ({ type: 'Guard', data: { height, outpoint, evidence: seen, lookedAt: 0, nodeReady, ...limit } }) as const

export type InvoiceChange = {
  readonly amountMsat?: bigint
  readonly network?: 'regtest' | 'mainnet'
  readonly paymentHash?: string
  readonly expirySeconds?: number
  readonly createdAt?: number
  readonly by?: number
}
/** An invoice of the seller's, as the order hands it on. */
export function payoutInvoice({
  amountMsat = SELLER_MSAT,
  network = 'regtest',
  paymentHash = 'ef'.repeat(32),
  expirySeconds = 400_000,
  createdAt = NOW,
  by = 1,
}: InvoiceChange = {}) {
  const secret = by === 1 ? sellerSecret : new Uint8Array(32).fill(by)
  const request = encodePaymentRequest(
    {
      network,
      paymentHash,
      amountMsat,
      paymentSecret: '22'.repeat(32),
      createdAt,
      expirySeconds,
      cltvDelta: 40,
      description: 'payout',
    },
    secret,
  )
  return {
    request,
    paymentHash,
    payee: pubkeyOf(secret),
    amountMsat: `${amountMsat}`,
    expiresAt: createdAt + expirySeconds * 1000,
    creditor: 'seller' as const,
  }
}

export const stateAfter = (...facts: readonly SettlementFact[]): Settlement => fold(settlement, facts)
