import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { fundingScript } from '@penstock/bitcoin/script.ts'
import {
  settlementContract as contract,
  type EvidenceData,
  type HoldTerms,
  type RegisteredOutpoint,
  type SettlementFact,
} from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { settlementDecider } from './settlement.decide.ts'
import type { NodeView, Settlement } from './state.ts'

/** Samples for the tests of this service: the facts of one order, in their sequence. */
type FactOf<T extends SettlementFact['type']> = Extract<SettlementFact, { type: T }>
export const settlementFact = <T extends SettlementFact['type']>(type: T, data: FactOf<T>['data']): FactOf<T> =>
  ({ type, v: contract.facts[type].v, data }) as FactOf<T> // the requested pair of type and data

const pubkeyOfByte = (byte: number): string => derivePubkey(new Uint8Array(32).fill(byte))
const sellerSecret = new Uint8Array(32).fill(1)
const buyer = pubkeyOfByte(2)
export const [seller, node, stranger] = [pubkeyOfByte(1), pubkeyOfByte(3), pubkeyOfByte(9)]
export const ORDER_ID = '018f3c1e-0000-7000-8000-000000000001'
export const NOW = 1_795_000_000_000
export const HASH = 'ab'.repeat(32)
export const OUTPOINT = `${'cd'.repeat(32)}:1`
export const EXPIRES = NOW + 3_600_000
/** E; the guard decides at E − 24, which is 976. */
export const E = 1000
export const HELD_AT = 850
export const SELLER_MSAT = 4_000_000n

export const sampleHoldTerms: HoldTerms = {
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
  sold: { buyerPubkey: buyer, capacitySat: '1000000', isPrivate: false, requiredConfirmations: 3 },
}
export const sampleNodeView: NodeView = {
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
export const heldPayment = { htlcs: [htlc], height: HELD_AT, receivedMsat: '5000000' }
/** Data of an outpoint that is neither in the chain nor in the mempool. */
export const unseenOutpoint = { seesMempool: true, confirmedAtHeight: null, enteredMempoolAt: null, heldSince: {} } as const
export const registeredOutpoint: RegisteredOutpoint = {
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
  outpointNumber: 1,
}
export const sampleAttestation = {
  outpoint: OUTPOINT,
  capacitySat: '1000000',
  nodeKeys: [seller, buyer] as [string, string],
  channelType: 'anchors',
  pushSat: '0',
  reserveSat: '10000',
  signature: 'y',
}

export const proof = { outpoint: OUTPOINT, tipHeight: 903, confirmations: 3, peer: 'graph', withheld: false } as const

export const holdRequestedFact = settlementFact('HoldRequested', { ...sampleHoldTerms, keyId: 'k1', node, paymentHash: HASH })
export const holdIssuedFact = settlementFact('HoldIssued', {
  paymentHash: HASH,
  keyId: 'k1',
  node,
  invoice: 'lnbcrt1',
  expiresAt: EXPIRES,
})
export const holdHeldFact = settlementFact('HoldHeld', {
  htlcs: [htlc],
  expiryHeight: E,
  heldAtHeight: HELD_AT,
  receivedMsat: '5000000',
})
export const outpointRegisteredFact = settlementFact('OutpointRegistered', registeredOutpoint)
export const settlementWantedFact = settlementFact('SettlementWanted', { outpoint: OUTPOINT })
export const settlementStartedFact = settlementFact('SettlementStarted', { proof, lastHeight: false })
export const settlementMissedFact = settlementFact('SettlementMissed', { height: E - 12, sentence: 'Too few blocks were left.' })
export const holdSettledFact = settlementFact('HoldSettled', { settledAt: NOW, receivedMsat: '5000000', confirmations: 3 })
export const ledgerPostedFact = settlementFact('LedgerPosted', {
  posting: 'settled',
  entries: [
    { account: 'received', amountMsat: '5000000' },
    { account: 'payable', amountMsat: '-4000000' },
    { account: 'platform-fee', amountMsat: '-900000' },
    { account: 'price-difference', amountMsat: '-100000' },
  ],
})
export const releaseCause = { reason: 'released', verdict: null, sentence: 'The seller gave up.' } as const
export const cancelRequestedFact = settlementFact('CancelRequested', releaseCause)
export const holdCancelledFact = settlementFact('HoldCancelled', { at: NOW, ...releaseCause })

export const openHistory: readonly SettlementFact[] = [holdRequestedFact, holdIssuedFact]
export const heldHistory: readonly SettlementFact[] = [...openHistory, holdHeldFact]
export const registeredHistory: readonly SettlementFact[] = [...heldHistory, outpointRegisteredFact]
export const settlingHistory: readonly SettlementFact[] = [...registeredHistory, settlementWantedFact, settlementStartedFact]
export const settledHistory: readonly SettlementFact[] = [...settlingHistory, holdSettledFact, ledgerPostedFact]

/** Complete evidence of a channel in block 901; `tipHeight` 903 is its third confirmation. */
export const sampleEvidence = (
  change: Partial<EvidenceData> = {},
  output: Partial<NonNullable<EvidenceData['output']>> = {},
): EvidenceData => ({
  tipHeight: 903,
  output: {
    outpoint: OUTPOINT,
    valueSat: '1000000',
    script: fundingScript(pubkeyOfByte(4), pubkeyOfByte(5)),
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
export const sampleFeeLimit = { routingFeeLimitPpm: 5000 }
export const guardCommand = (
  height: number,
  observed: EvidenceData | null,
  outpoint: string | null = OUTPOINT,
  nodeReady = true,
) => ({ type: 'Guard', data: { height, outpoint, evidence: observed, observedAt: 0, nodeReady, ...sampleFeeLimit } }) as const

export type InvoiceChange = {
  readonly amountMsat?: bigint
  readonly network?: 'regtest' | 'mainnet'
  readonly paymentHash?: string
  readonly expirySeconds?: number
  readonly createdAt?: number
  readonly by?: number
}
/** A payout invoice of the seller, in the form that the order sends. */
export function makePayoutInvoice({
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
    payee: derivePubkey(secret),
    amountMsat: `${amountMsat}`,
    expiresAt: createdAt + expirySeconds * 1000,
    creditor: 'seller' as const,
  }
}

export const stateAfter = (...facts: readonly SettlementFact[]): Settlement => fold(settlementDecider, facts)
