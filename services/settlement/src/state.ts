import type { BitcoinNetwork } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand as Wire, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Decision, Refusal } from '@penstock/kernel/decider.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { evolveHold, type Hold, noHold } from './hold/hold.ts'
import { type LedgerBalances, evolveBalances, owedMsat } from './payout/ledger.ts'
import { evolveLoss, type Loss } from './payout/loss.ts'
import { evolvePayout, noPayout, type SettlementPayout } from './payout/payout.ts'

/** The money of one order: its hold, the payout, and the ledger of both. */
export type Settlement = {
  readonly hold: Hold
  readonly payout: SettlementPayout
  readonly balances: LedgerBalances
  /** Null: the market settled the payment, or did not cause its cancellation. */
  readonly loss: Loss | null
}

export const initial: Settlement = { hold: noHold, payout: noPayout, balances: {}, loss: null }

/** Whether a payout is owed: from a settled payment, or by the operator for a payment that should have been settled. */
export const isOwing = ({ hold, loss, balances }: Settlement): boolean =>
  (hold.status === 'settled' || loss?.status === 'borne') && owedMsat(balances) > 0n

export const evolve = ({ hold, payout, balances, loss }: Settlement, fact: SettlementFact): Settlement => ({
  hold: evolveHold(hold, fact),
  payout: evolvePayout(payout, fact),
  balances: evolveBalances(balances, fact),
  loss: evolveLoss(loss, fact),
})

/** Data of the node and the chain when an invoice is requested. */
export type NodeView = {
  readonly node: string
  readonly keyId: string
  readonly paymentHash: string
  readonly synced: boolean
  readonly tipAgeSeconds: number
  /** 0: a tip of any age is accepted. */
  readonly staleTipSeconds: number
  readonly inboundSat: bigint
  /** Blocks before an expiry height at which the node itself cancels a held payment; null if unknown. */
  readonly holdExpiryDelta: number | null
}
/** Data of the chain about an outpoint when it is submitted. */
export type OutpointView = {
  readonly height: number
  readonly seesMempool: boolean
  readonly confirmedAtHeight: number | null
  /** In milliseconds since 1970; null: as far as is known, the transaction was never in a mempool. */
  readonly enteredMempoolAt: number | null
  /** By payment hash: since when the node holds the whole amount; null if the node does not report it. */
  readonly heldSince: Readonly<Record<string, number | null>>
}
/** A payment that reached the node just before its invoice expired. */
export type PaymentAtExpiry = {
  readonly held: Omit<Extract<Wire, { type: 'RecordHeld' }>['data'], 'crowdedPeer'> | null
  /** Pubkey of the node that answered. */
  readonly node: string
}
/** Upper limit for the routing fee of a payout, relative to its amount. */
export type FeeLimit = { readonly routingFeeLimitPpm: number }

export type EnrichedSettlementCommand = EnrichedCommand<
  Wire,
  {
    IssueHold: NodeView
    RegisterOutpoint: OutpointView
    ExpireInvoice: PaymentAtExpiry
    SubmitPayoutInvoice: { readonly network: BitcoinNetwork }
    SubmitRefundInvoice: { readonly network: BitcoinNetwork; readonly isProven: boolean }
    DecidePayout: { readonly height: number; readonly isProven: boolean }
    RetryPayoutNow: FeeLimit
    RecordPayhash: FeeLimit
    RecordPayout: FeeLimit & { readonly height?: number }
    Guard: FeeLimit
    RetryPayout: FeeLimit
  }
>
export type CommandOf<Type extends EnrichedSettlementCommand['type']> = Extract<EnrichedSettlementCommand, { type: Type }>
export type SettlementCommandData<Type extends EnrichedSettlementCommand['type']> = CommandOf<Type>['data']

/**
 * Refusals of the command itself: a settlement of less than the full amount, and commands of operators. For all other senders a
 * fact records the refusal.
 */
export type SettlementRefusal = Refusal<
  | 'NOT_ALL_SETTLED'
  | 'NOTHING_OWED'
  | 'PAYOUT_UNDER_WAY'
  | 'WITHHELD'
  | 'NO_INVOICE'
  | 'NOT_WITHHELD'
  | 'TOO_EARLY'
  | 'NOT_THEIRS'
  | 'NOT_PROVEN'
  | 'TOO_MANY_INVOICES'
>
export type SettlementDecision = Decision<SettlementFact, SettlementRefusal>
