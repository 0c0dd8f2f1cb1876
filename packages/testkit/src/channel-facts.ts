import { channelContract, type ChannelFact } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'

/** The facts of one channel: submitted at height 100, confirmed in block 101, with a lease of 100 blocks until block 201. */

export const channelOutpoint = `${'aa'.repeat(32)}:1`
export const otherOutpoint = `${'bb'.repeat(32)}:0`
export const sellerPubkey = `02${'11'.repeat(32)}`
export const buyerPubkey = `03${'22'.repeat(32)}`
const soldTerms = {
  sellerPubkey,
  buyerPubkey,
  capacitySat: '1000000',
  isPrivate: false,
  rails: true,
  heldAtHeight: 99,
  requiredConfirmations: 3,
}
export const acceptedOutpoint = {
  attempt: 1,
  outpoint: channelOutpoint,
  terms: soldTerms,
  fundingConfirmsWithinBlocks: 8,
  leaseBlocks: 100,
  outpointNumber: 1,
}
export const channelFact = <T extends ChannelFact['type']>(type: T, data: Extract<ChannelFact, { type: T }>['data']) =>
  ({ type, v: channelContract.facts[type].v, data }) as ChannelFact

export const watchStarted = channelFact('WatchStarted', {
  ...acceptedOutpoint,
  fromHeight: 93,
  seenBefore: 106,
  confirmedBefore: 108,
})
export const fundingSeen = channelFact('FundingSeen', { outpoint: channelOutpoint, atHeight: 100, outpointNumber: 1, attempt: 1 })
export const fundingConfirmed = channelFact('FundingConfirmed', {
  outpoint: channelOutpoint,
  height: 101,
  shortChannelId: '101x2x1',
  outpointNumber: 1,
})
export const twoConfirmations = channelFact('ConfirmationsSeen', { outpoint: channelOutpoint, confirmations: 2, tipHeight: 102 })
export const threeConfirmations = channelFact('ConfirmationsSeen', {
  outpoint: channelOutpoint,
  confirmations: 3,
  tipHeight: 103,
})
export const confirmationsReached = channelFact('ConfirmationsReached', {
  outpoint: channelOutpoint,
  confirmations: 3,
  tipHeight: 103,
  outpointNumber: 1,
})
export const fundingMissing = channelFact('FundingMissing', {
  outpoint: channelOutpoint,
  tipHeight: 102,
  goneBefore: 104,
  attempt: 1,
})
export const leaseStarted = channelFact('LeaseStarted', { outpoint: channelOutpoint, atHeight: 103, endsAtHeight: 201 })
export const fundingLost = channelFact('FundingLost', {
  outpoint: channelOutpoint,
  failure: 'never-seen',
  reason: 'gone',
  tipHeight: 106,
  outpointNumber: 1,
})
export const watchStopped = channelFact('WatchStopped', { reason: 'The order is closed.' })
export const channelInvalid = channelFact('ChannelInvalid', {
  outpoint: channelOutpoint,
  code: 'spent',
  reason: 'Spent.',
  tipHeight: 103,
  outpointNumber: 1,
})
export const leaseEnded = channelFact('LeaseEnded', {
  outpoint: channelOutpoint,
  early: false,
  closedBy: null,
  spentBy: null,
  tipHeight: 201,
})
export const openedChannelFacts = [
  watchStarted,
  fundingSeen,
  fundingConfirmed,
  twoConfirmations,
  threeConfirmations,
  confirmationsReached,
]

export const createOutput = (height: number | null, overrides: Partial<NonNullable<EvidenceData['output']>> = {}) => ({
  outpoint: channelOutpoint,
  valueSat: '1000000',
  script: `0020${'ab'.repeat(32)}`,
  height,
  txIndex: height === null ? null : 2,
  spentBy: null,
  ...overrides,
})
export const createEvidence = (
  tipHeight: number,
  output: EvidenceData['output'],
  overrides: Partial<EvidenceData> = {},
): EvidenceData => ({
  tipHeight,
  output,
  attestation: null,
  attestationSigner: null,
  graph: null,
  otherChannelsBetween: false,
  probe: 'not-tried',
  ...overrides,
})
export const observeCommand = (evidence: EvidenceData, seesMempool = true) => ({
  type: 'Observe' as const,
  data: { outpoint: channelOutpoint, evidence, seesMempool },
})
export const watchCommand = (overrides: object = {}) => ({
  type: 'WatchOutpoint' as const,
  data: { ...acceptedOutpoint, attestation: null, fundingSeenBlocks: 6, height: 100, seesMempool: true, ...overrides },
})
export const startLeaseCommand = { type: 'StartLease' as const, data: { outpoint: channelOutpoint, height: 103 } }
export const sellerAttestation: AttestationData = {
  outpoint: channelOutpoint,
  capacitySat: '1000000',
  nodeKeys: [sellerPubkey, buyerPubkey],
  channelType: 'anchors',
  pushSat: '0',
  reserveSat: '1000',
  signature: 's',
}
export const createSpend = (height: number | null) => ({ spentBy: { txid: 'cc'.repeat(32), height } })
