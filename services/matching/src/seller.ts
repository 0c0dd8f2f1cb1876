import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import { recover } from '@penstock/bitcoin/message-signature.ts'
import type { SellerCommand, SellerFact, SellerRefusal } from '@penstock/contracts/matching.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { sellerMachine } from './seller.machine.ts'

/** What enrichment adds: the stream's own key, and what the shared counters remember of heartbeats. */
export type SellerExtra = {
  Attest: { readonly node: string; readonly previousAt: number | null }
  LapseSilence: { readonly lastSeenAt: number | null; readonly liveMs: number }
}
export type SellerDecides = Enriched<SellerCommand, SellerExtra>
type Attest = Extract<SellerDecides, { readonly type: 'Attest' }>

export type Seller = {
  readonly status: 'NONE' | 'LIVE' | 'SILENT'
  readonly confirmedSat: bigint
  readonly attestedAt: number
  readonly granted: boolean
  /** Sales by outcome, and the last of them by order, attempt and outcome, so that each counts once. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly counted: readonly string[]
}

const MAX_CLOCK_DIFFERENCE_MS = MINUTE_MS
const REMEMBERED = 200

export const sellerLifecycle = compile<Seller['status'], SellerFact['type']>(sellerMachine)
const initial: Seller = { status: 'NONE', confirmedSat: 0n, attestedAt: 0, granted: false, outcomes: {}, counted: [] }

type Outcome = Extract<SellerFact, { readonly type: 'OutcomeRecorded' }>['data']
const keyOf = ({ orderId, attempt, outcome }: Pick<Outcome, 'orderId' | 'attempt' | 'outcome'>): string =>
  `${orderId}/${attempt}/${outcome}`

function evolve(seller: Seller, fact: SellerFact): Seller {
  const status = sellerLifecycle.after(seller.status, fact.type)
  if (!status) throw new Bug(`${fact.type} cannot follow ${seller.status}`)
  switch (fact.type) {
    case 'SellerAppeared':
    case 'FundsAttested':
      return { ...seller, status, confirmedSat: BigInt(fact.data.confirmedSat), attestedAt: fact.data.at }
    case 'OutcomeRecorded': {
      const { outcome } = fact.data
      const outcomes = { ...seller.outcomes, [outcome]: (seller.outcomes[outcome] ?? 0) + 1 }
      return { ...seller, status, outcomes, counted: [...seller.counted, keyOf(fact.data)].slice(-REMEMBERED) }
    }
    case 'RailsGranted':
    case 'RailsGrantRevoked':
      return { ...seller, status, granted: fact.type === 'RailsGranted' }
    case 'SellerFellSilent':
      return { ...seller, status }
  }
}

function decide(seller: Seller, command: SellerDecides): Decision<SellerFact, Refusal<SellerRefusal>> {
  switch (command.type) {
    case 'Attest':
      return attest(seller, command)
    case 'LapseSilence': {
      const { lastSeenAt, liveMs } = command.data
      const silent = seller.status === 'LIVE' && (lastSeenAt === null || lastSeenAt + liveMs <= command.at)
      return silent ? accept({ type: 'SellerFellSilent', v: 1, data: { lastSeenAt: lastSeenAt ?? seller.attestedAt } }) : accept()
    }
    case 'RecordOutcome':
      return seller.counted.includes(keyOf(command.data))
        ? accept()
        : accept({ type: 'OutcomeRecorded', v: 1, data: { ...command.data, at: command.at } })
    case 'GrantRails':
      return seller.granted ? accept() : accept({ type: 'RailsGranted', v: 1, data: command.data })
    case 'RevokeRails':
      return seller.granted ? accept({ type: 'RailsGrantRevoked', v: 1, data: command.data }) : accept()
  }
}

/** @returns why a heartbeat does not count: not the node's own, or not of now */
export function wrongAttestation({
  at,
  data,
}: Pick<Attest, 'at' | 'data'>): { readonly refused: Refusal<SellerRefusal> } | undefined {
  if (Math.abs(data.at - at) > MAX_CLOCK_DIFFERENCE_MS)
    return refuse(
      'ATTESTATION_TIME',
      `The attestation's time is more than ${MAX_CLOCK_DIFFERENCE_MS / 1000} s away from ours; set the clock.`,
    )
  if (data.previousAt !== null && data.at < data.previousAt)
    return refuse('ATTESTATION_OLD', 'There is a later attestation already; sign the present time.')
  const text = fundsAttestationText({ pubkey: data.node, confirmedSats: BigInt(data.confirmedSat), at: data.at })
  if (data.pubkey !== data.node || recover(text, data.signature) !== data.node)
    return refuse('ATTESTATION_SIGNATURE', 'The signature over the attestation is not that of this node.')
  return undefined
}

function attest(seller: Seller, command: Attest): Decision<SellerFact, Refusal<SellerRefusal>> {
  const { accountId, confirmedSat, at } = command.data
  const previousAt = Math.max(command.data.previousAt ?? 0, seller.attestedAt)
  const wrong = wrongAttestation({ ...command, data: { ...command.data, previousAt } })
  if (wrong) return wrong
  if (seller.status !== 'LIVE') return accept({ type: 'SellerAppeared', v: 1, data: { accountId, confirmedSat, at } })
  return BigInt(confirmedSat) === seller.confirmedSat
    ? accept()
    : accept({ type: 'FundsAttested', v: 1, data: { confirmedSat, at } })
}

export const seller: Decider<Seller, SellerDecides, SellerFact, Refusal<SellerRefusal>> = { initial, evolve, decide }
