import { channel, type ChannelFact } from '@penstock/contracts/channel.ts'
import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'

/** One channel's life, fact by fact: named at height 100, confirmed in block 101, its lease of 100 blocks ends with 201. */

export const outpoint = `${'aa'.repeat(32)}:1`
export const other = `${'bb'.repeat(32)}:0`
export const seller = `02${'11'.repeat(32)}`
export const buyer = `03${'22'.repeat(32)}`
const terms = {
  sellerPubkey: seller,
  buyerPubkey: buyer,
  capacitySat: '1000000',
  isPrivate: false,
  rails: true,
  heldAtHeight: 99,
  requiredConfirmations: 3,
}
export const named = { attempt: 1, outpoint, terms, fundingConfirmsWithinBlocks: 8, leaseBlocks: 100, naming: 1 }
export const fact = <T extends ChannelFact['type']>(type: T, data: Extract<ChannelFact, { type: T }>['data']) =>
  ({ type, v: channel.facts[type].v, data }) as ChannelFact

export const started = fact('WatchStarted', { ...named, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 })
export const seen = fact('FundingSeen', { outpoint, atHeight: 100, naming: 1 })
export const confirmed = fact('FundingConfirmed', { outpoint, height: 101, shortChannelId: '101x2x1', naming: 1 })
export const two = fact('ConfirmationsSeen', { outpoint, confirmations: 2, tipHeight: 102 })
export const three = fact('ConfirmationsSeen', { outpoint, confirmations: 3, tipHeight: 103 })
export const reached = fact('ConfirmationsReached', { outpoint, confirmations: 3, tipHeight: 103, naming: 1 })
export const missing = fact('FundingMissing', { outpoint, tipHeight: 102, goneBefore: 104 })
export const leased = fact('LeaseStarted', { outpoint, atHeight: 103, endsAtHeight: 201 })
export const lost = fact('FundingLost', { outpoint, failure: 'never-seen', reason: 'gone', tipHeight: 106, naming: 1 })
export const stopped = fact('WatchStopped', { reason: 'The order is closed.' })
export const wrong = fact('ChannelWrong', { outpoint, code: 'spent', reason: 'Spent.', tipHeight: 103, naming: 1 })
export const ended = fact('LeaseEnded', { outpoint, early: false, closedBy: null, spentBy: null, tipHeight: 201 })
export const opened = [started, seen, confirmed, two, three, reached]

export const output = (height: number | null, more: Partial<NonNullable<EvidenceData['output']>> = {}) => ({
  outpoint,
  valueSat: '1000000',
  script: `0020${'ab'.repeat(32)}`,
  height,
  txIndex: height === null ? null : 2,
  spentBy: null,
  ...more,
})
export const evidence = (tipHeight: number, shown: EvidenceData['output'], more: Partial<EvidenceData> = {}): EvidenceData => ({
  tipHeight,
  output: shown,
  attestation: null,
  attestationSigner: null,
  graph: null,
  otherChannelsBetween: false,
  probe: 'not-tried',
  ...more,
})
export const observe = (of: EvidenceData, seesMempool = true) => ({
  type: 'Observe' as const,
  data: { outpoint, evidence: of, seesMempool },
})
export const watch = (more: object = {}) => ({
  type: 'WatchOutpoint' as const,
  data: { ...named, attestation: null, fundingSeenBlocks: 6, height: 100, seesMempool: true, ...more },
})
export const lease = { type: 'StartLease' as const, data: { outpoint, height: 103 } }
export const attestation: Attestation = {
  outpoint,
  capacitySat: '1000000',
  nodeKeys: [seller, buyer],
  channelType: 'anchors',
  pushSat: '0',
  reserveSat: '1000',
  signature: 's',
}
export const spent = (height: number | null) => ({ spentBy: { txid: 'cc'.repeat(32), height } })
