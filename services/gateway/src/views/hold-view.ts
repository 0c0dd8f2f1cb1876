import type { LedgerEntry, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { nothingOwed, type Owed, owedAfter } from './owed.ts'

export type PayoutState = 'OPEN' | 'WITHHELD' | 'REQUESTED' | 'SUCCEEDED' | 'FAILED'

/** The money of an order, as settlement's own stream tells it. It never waits for the order's stream, nor that for it. */
export type HoldView = {
  readonly status: 'requested' | 'refused' | 'open' | 'held' | 'settling' | 'settled' | 'cancelling' | 'cancelled'
  readonly paymentHash: string | null
  readonly expiryHeight: number | null
  readonly settledAt: number | null
  readonly cancelledAt: number | null
  readonly reason: string | null
  readonly payout: {
    readonly state: PayoutState
    /** Why the last try failed, in the words that clients know. */
    readonly failure: string | null
    readonly reason: string | null
    readonly attempts: number
    readonly payee: string | null
    readonly paymentHash: string | null
    readonly retryAt: number | null
    readonly feeMsat: string | null
  } | null
  readonly owed: Owed
  readonly ledger: readonly { readonly posting: string; readonly at: number; readonly entries: readonly LedgerEntry[] }[]
  readonly incidents: readonly { readonly what: string; readonly height: number; readonly at: number }[]
}

const nothing: HoldView = {
  status: 'requested',
  paymentHash: null,
  expiryHeight: null,
  settledAt: null,
  cancelledAt: null,
  reason: null,
  payout: null,
  owed: nothingOwed,
  ledger: [],
  incidents: [],
}

const openPayout = {
  state: 'OPEN',
  failure: null,
  reason: null,
  attempts: 0,
  payee: null,
  paymentHash: null,
  retryAt: null,
  feeMsat: null,
} as const

/** @returns the view after one fact of the order's settlement stream */
export function holdView(before: HoldView = nothing, { fact, at }: Event<SettlementFact>): HoldView {
  const view = { ...before, owed: owedAfter(before.owed, fact) }
  switch (fact.type) {
    case 'HoldRequested':
      return { ...view, paymentHash: fact.data.paymentHash }
    case 'HoldRefused':
      return { ...view, status: 'refused', reason: fact.data.reason }
    case 'HoldIssued':
      return { ...view, status: statusBut(view, 'open') }
    case 'HoldHeld':
      return { ...view, status: statusBut(view, 'held'), expiryHeight: fact.data.expiryHeight }
    case 'SettleRequested':
      return { ...view, status: 'settling' }
    case 'HoldSettled':
      return { ...view, status: 'settled', settledAt: fact.data.settledAt, payout: view.payout ?? openPayout }
    case 'CancelRequested':
      return { ...view, status: 'cancelling', reason: fact.data.sentence }
    case 'HoldCancelled':
      return { ...view, status: 'cancelled', cancelledAt: fact.data.at, reason: fact.data.sentence }
    case 'LedgerPosted':
      return { ...view, ledger: [...view.ledger, { posting: fact.data.posting, at, entries: fact.data.entries }] }
    case 'IncidentNoted':
      return { ...view, incidents: [...view.incidents, { ...fact.data, at }] }
    default:
      return payoutAfter(view, fact, before.owed)
  }
}

/** An invoice that was made, or paid, while it was being cancelled is noted, and cancelled too. */
const statusBut = ({ status }: HoldView, late: 'open' | 'held'): HoldView['status'] =>
  status === 'refused' || status === 'cancelling' || status === 'cancelled' ? status : late

function payoutAfter(view: HoldView, fact: SettlementFact, before: Owed): HoldView {
  const payout = view.payout ?? openPayout
  switch (fact.type) {
    case 'PayoutInvoiceTaken': {
      // What was wrong with the seller's invoice is mended by another one, and not by the same that is told once more.
      const seller = view.owed.sellerPubkey ?? ''
      const isAnother = view.owed.usable[seller] !== before.usable[seller]
      return view.payout && isAnother ? { ...view, payout: mended(view.payout) } : view
    }
    case 'PayoutWithheld':
      return { ...view, payout: { ...payout, state: 'WITHHELD', reason: fact.data.reason } }
    case 'PayoutReleased':
      return { ...view, payout: { ...payout, state: 'OPEN', reason: null } }
    case 'PayoutRequested': {
      const { attempt, paymentHash } = fact.data
      return {
        ...view,
        payout: {
          ...mended(payout),
          state: 'REQUESTED',
          attempts: attempt,
          paymentHash,
          payee: view.owed.invoices[paymentHash]?.payee ?? null,
        },
      }
    }
    case 'PayoutSucceeded': {
      // Mostly the one that was asked for, and sometimes one before it that arrived after all.
      const { paymentHash, feeMsat } = fact.data
      const payee = view.owed.invoices[paymentHash]?.payee ?? payout.payee
      const paid = { state: 'SUCCEEDED', paymentHash, payee, failure: null, reason: null, retryAt: null, feeMsat } as const
      return { ...view, payout: { ...payout, ...paid } }
    }
    case 'PayoutFailed': {
      const { status, reason, retryAt } = fact.data
      return { ...view, payout: { ...payout, state: 'FAILED', failure: status, reason, retryAt } }
    }
    default:
      return view
  }
}

/** Nothing has failed any more. Why it is withheld stays to be read. */
const mended = (payout: NonNullable<HoldView['payout']>): NonNullable<HoldView['payout']> => ({
  ...payout,
  ...(payout.state === 'FAILED' && { state: 'OPEN', reason: null }),
  failure: null,
  retryAt: null,
})
