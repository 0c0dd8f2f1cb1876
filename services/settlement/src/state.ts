import type { Network } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand as Wire, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Decision, Refusal } from '@penstock/kernel/decider.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { evolveHold, type Hold, noHold } from './hold.ts'
import { type Balances, evolveBalances } from './ledger.ts'
import { evolvePayout, noPayout, type Payout } from './payout.ts'

/** The money of one order: its hold, what the seller is owed of it, and the books of both. */
export type Settlement = { readonly hold: Hold; readonly payout: Payout; readonly balances: Balances }

export const initial: Settlement = { hold: noHold, payout: noPayout, balances: {} }

export const evolve = ({ hold, payout, balances }: Settlement, fact: SettlementFact): Settlement => ({
  hold: evolveHold(hold, fact),
  payout: evolvePayout(payout, fact),
  balances: evolveBalances(balances, fact),
})

/** What the node and the chain showed when an invoice was wanted. */
export type NodeView = {
  readonly node: string
  readonly keyId: string
  readonly paymentHash: string
  readonly synced: boolean
  readonly tipAgeSeconds: number
  /** 0: a tip of any age will do. */
  readonly staleTipSeconds: number
  readonly inboundSat: bigint
  /** Blocks before an expiry at which the node gives a held payment back by itself; null where nobody knows. */
  readonly holdExpiryDelta: number | null
}
/** What the chain showed of an outpoint when it was named. */
export type NamingView = { readonly height: number; readonly confirmedAtHeight: number | null }
/** A payment that reached the node just before its invoice ended. */
export type LastMoment = {
  readonly held: Omit<Extract<Wire, { type: 'RecordHeld' }>['data'], 'crowdedPeer'> | null
  /** Who said so. */
  readonly node: string
}
/** The most that a payout may cost on its way, of the payout. */
export type FeeLimit = { readonly routingFeeLimitPpm: number }

export type SettlementCommand = Enriched<
  Wire,
  {
    IssueHold: NodeView
    NoteOutpoint: NamingView
    ExpireInvoice: LastMoment
    GivePayoutInvoice: { readonly network: Network }
    RecordPayhash: FeeLimit
    RecordPayout: FeeLimit
    Guard: FeeLimit
    RetryPayout: FeeLimit
  }
>
export type CommandOf<Type extends SettlementCommand['type']> = Extract<SettlementCommand, { type: Type }>
export type Data<Type extends SettlementCommand['type']> = CommandOf<Type>['data']

/** The one "no": settled is what the node shows as settled, in full. All others who are refused learn it by a fact. */
export type SettlementRefusal = Refusal<'NOT_ALL_SETTLED'>
export type SettlementDecision = Decision<SettlementFact, SettlementRefusal>
