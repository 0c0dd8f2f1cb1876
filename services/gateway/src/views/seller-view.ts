import type { SellerFact } from '@penstock/contracts/matching.ts'
import { type Evidence, noEvidence, withOutcome } from '@penstock/market/score.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** A seller's node, as buyers may know it. */
export type SellerView = {
  readonly live: boolean
  /** In the rails cluster by an operator's grant. */
  readonly granted: boolean
  readonly fundsSat: string
  readonly evidence: Evidence
}

const unknown: SellerView = { live: false, granted: false, fundsSat: '0', evidence: noEvidence }

/** @returns the view after one fact of the seller's stream; an operator may grant before the seller was ever heard of */
export function sellerView(view: SellerView = unknown, { fact }: Event<SellerFact>): SellerView {
  switch (fact.type) {
    case 'SellerAppeared':
      return { ...view, live: true, fundsSat: fact.data.confirmedSat }
    case 'FundsAttested':
      return { ...view, fundsSat: fact.data.confirmedSat }
    case 'SellerFellSilent':
      return { ...view, live: false }
    case 'OutcomeRecorded':
      return { ...view, evidence: withOutcome(view.evidence, fact.data.outcome, fact.data.at) }
    case 'RailsGranted':
      return { ...view, granted: true }
    case 'RailsGrantRevoked':
      return { ...view, granted: false }
  }
}
