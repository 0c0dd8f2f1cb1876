import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { recoverPubkey } from '@penstock/bitcoin/message-signature.ts'
import type { SellerCommand, SellerFact, SellerRefusal } from '@penstock/contracts/matching.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '@penstock/market/funded-reservations.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { sellerMachine } from './seller.machine.ts'

/**
 * Enrichment adds the node's key, which is the stream's id, and the heartbeat times of the shared counters. `isAwaited`: see
 * `awaitsAttestation` of the order book. `receivedAt`: the time by our clock, because the command may have waited.
 */
export type SellerEnrichment = {
  Attest: {
    readonly node: string
    readonly previousAt: number | null
    readonly isAwaited: boolean
    readonly receivedAt: number
  }
  LapseSilence: { readonly lastSeenAt: number | null; readonly liveMs: number }
}
export type EnrichedSellerCommand = EnrichedCommand<SellerCommand, SellerEnrichment>
type AttestCommand = Extract<EnrichedSellerCommand, { readonly type: 'Attest' }>

export type SellerState = {
  readonly status: 'NONE' | 'LIVE' | 'SILENT'
  readonly confirmedSat: bigint
  readonly attestedAt: number
  readonly hasRailsGrant: boolean
  /** Number of sales by outcome, and the keys of the latest counted outcomes, so that each counts once. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly countedOutcomes: readonly string[]
}

const MAX_COUNTED_OUTCOMES = 200

export const sellerLifecycle = compileLifecycle<SellerState['status'], SellerFact['type']>(sellerMachine)
const initial: SellerState = {
  status: 'NONE',
  confirmedSat: 0n,
  attestedAt: 0,
  hasRailsGrant: false,
  outcomes: {},
  countedOutcomes: [],
}

type OutcomeData = Extract<SellerFact, { readonly type: 'OutcomeRecorded' }>['data']
const outcomeKeyOf = ({ orderId, attempt, outcome }: Pick<OutcomeData, 'orderId' | 'attempt' | 'outcome'>): string =>
  `${orderId}/${attempt}/${outcome}`

function evolve(seller: SellerState, fact: SellerFact): SellerState {
  const status = sellerLifecycle.after(seller.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${seller.status}`)
  switch (fact.type) {
    case 'SellerAppeared':
    case 'FundsAttested':
      return { ...seller, status, confirmedSat: BigInt(fact.data.confirmedSat), attestedAt: fact.data.at }
    case 'OutcomeRecorded': {
      const { outcome } = fact.data
      const outcomes = { ...seller.outcomes, [outcome]: (seller.outcomes[outcome] ?? 0) + 1 }
      return {
        ...seller,
        status,
        outcomes,
        countedOutcomes: [...seller.countedOutcomes, outcomeKeyOf(fact.data)].slice(-MAX_COUNTED_OUTCOMES),
      }
    }
    case 'RailsGranted':
    case 'RailsGrantRevoked':
      return { ...seller, status, hasRailsGrant: fact.type === 'RailsGranted' }
    case 'SellerFellSilent':
      return { ...seller, status }
  }
}

function decide(seller: SellerState, command: EnrichedSellerCommand): Decision<SellerFact, Refusal<SellerRefusal>> {
  switch (command.type) {
    case 'Attest':
      return attest(seller, command)
    case 'LapseSilence': {
      const { lastSeenAt, liveMs } = command.data
      const isSilent = seller.status === 'LIVE' && (lastSeenAt === null || lastSeenAt + liveMs <= command.at)
      return isSilent
        ? accept({ type: 'SellerFellSilent', v: 1, data: { lastSeenAt: lastSeenAt ?? seller.attestedAt } })
        : accept()
    }
    case 'RecordOutcome':
      return seller.countedOutcomes.includes(outcomeKeyOf(command.data))
        ? accept()
        : accept({ type: 'OutcomeRecorded', v: 1, data: { ...command.data, at: command.at } })
    case 'GrantRails':
      return seller.hasRailsGrant ? accept() : accept({ type: 'RailsGranted', v: 1, data: command.data })
    case 'RevokeRails':
      return seller.hasRailsGrant ? accept({ type: 'RailsGrantRevoked', v: 1, data: command.data }) : accept()
  }
}

/** @returns a refusal for an attestation that has a wrong time, waited for too long, or lacks the signature of its node */
export function checkFundsAttestation(data: AttestCommand['data']): { readonly refused: Refusal<SellerRefusal> } | undefined {
  if (Math.abs(data.at - data.receivedAt) > MAX_CLOCK_DIFFERENCE_MS)
    return refuse(
      'ATTESTATION_TIME',
      `The attestation's time is more than ${MAX_CLOCK_DIFFERENCE_MS / 1000} s away from ours; set the clock.`,
    )
  if (data.previousAt !== null && data.at < data.previousAt)
    return refuse('ATTESTATION_OLD', 'There is a later attestation already; sign the present time.')
  const text = formatFundsAttestation({ pubkey: data.node, confirmedSats: BigInt(data.confirmedSat), at: data.at })
  if (data.pubkey !== data.node || recoverPubkey(text, data.signature) !== data.node)
    return refuse('ATTESTATION_SIGNATURE', 'The signature over the attestation is not that of this node.')
  return undefined
}

function attest(seller: SellerState, command: AttestCommand): Decision<SellerFact, Refusal<SellerRefusal>> {
  const { accountId, confirmedSat, at, isAwaited } = command.data
  const previousAt = Math.max(command.data.previousAt ?? 0, seller.attestedAt)
  const refusal = checkFundsAttestation({ ...command.data, previousAt })
  if (refusal) return refusal
  if (seller.status !== 'LIVE') return accept({ type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat, at } })
  return BigInt(confirmedSat) === seller.confirmedSat && !isAwaited
    ? accept()
    : accept({ type: 'FundsAttested', v: 1, data: { confirmedSat, at } })
}

export const sellerDecider: Decider<SellerState, EnrichedSellerCommand, SellerFact, Refusal<SellerRefusal>> = {
  initial,
  evolve,
  decide,
}
