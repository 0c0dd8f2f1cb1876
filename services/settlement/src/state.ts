import type { Network } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand as Wire, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Decision, Refusal } from '@penstock/kernel/decider.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { evolveHold, type Hold, noHold } from './hold.ts'
import { type Balances, evolveBalances, owedMsat } from './ledger.ts'
import { evolveLoss, type Loss } from './loss.ts'
import { evolvePayout, noPayout, type Payout } from './payout.ts'

/** The money of one order: its hold, what the seller is owed of it, and the books of both. */
export type Settlement = {
  readonly hold: Hold
  readonly payout: Payout
  readonly balances: Balances
  /** Null: the market took the payment, or had no part in its going back. */
  readonly loss: Loss | null
}

export const initial: Settlement = { hold: noHold, payout: noPayout, balances: {}, loss: null }

/** Whether somebody is to be paid: of a payment that was taken, or by the operator for one that should have been. */
export const isOwing = ({ hold, loss, balances }: Settlement): boolean =>
  (hold.status === 'settled' || loss?.status === 'borne') && owedMsat(balances) > 0n

export const evolve = ({ hold, payout, balances, loss }: Settlement, fact: SettlementFact): Settlement => ({
  hold: evolveHold(hold, fact),
  payout: evolvePayout(payout, fact),
  balances: evolveBalances(balances, fact),
  loss: evolveLoss(loss, fact),
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
export type NamingView = {
  readonly height: number
  readonly seesMempool: boolean
  readonly confirmedAtHeight: number | null
  /** Milliseconds since 1970; null: no mempool has, or had, the transaction as far as is known. */
  readonly enteredMempoolAt: number | null
  /** By payment hash of what the node holds: since when it holds the whole amount; null where it does not tell. */
  readonly heldSince: Readonly<Record<string, number | null>>
}
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
    GiveRefundInvoice: { readonly network: Network }
    DecidePayout: { readonly height: number }
    RetryPayoutNow: FeeLimit
    RecordPayhash: FeeLimit
    RecordPayout: FeeLimit
    Guard: FeeLimit
    RetryPayout: FeeLimit
  }
>
export type CommandOf<Type extends SettlementCommand['type']> = Extract<SettlementCommand, { type: Type }>
export type Data<Type extends SettlementCommand['type']> = CommandOf<Type>['data']

/** Settled is what the node shows as settled, in full; operators are told at once. All others learn a refusal by a fact. */
export type SettlementRefusal = Refusal<
  | 'NOT_ALL_SETTLED'
  | 'NOTHING_OWED'
  | 'PAYOUT_UNDER_WAY'
  | 'WITHHELD'
  | 'NO_INVOICE'
  | 'NOT_WITHHELD'
  | 'TOO_EARLY'
  | 'NOT_THEIRS'
>
export type SettlementDecision = Decision<SettlementFact, SettlementRefusal>
