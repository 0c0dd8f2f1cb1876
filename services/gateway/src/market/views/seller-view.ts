import type { SellerFact } from '@penstock/contracts/matching.ts'
import { type ScoreEvidence, noEvidence, addOutcome } from '@penstock/market/score.ts'
import type { Event } from '@penstock/runtime/service.ts'

/** A seller's node, as buyers see it. */
export type SellerView = {
  readonly live: boolean
  /** Whether an operator has admitted the seller to the rails cluster. */
  readonly granted: boolean
  readonly fundsSat: string
  /** The time of the seller's latest attestation; absent in views of older versions. */
  readonly attestedAt?: number
  readonly evidence: ScoreEvidence
}

const unknownSeller: SellerView = { live: false, granted: false, fundsSat: '0', evidence: noEvidence }

/** @returns the view after one fact of the seller's stream; an operator's grant may precede SellerAppeared */
export function evolveSellerView(view: SellerView = unknownSeller, { fact }: Event<SellerFact>): SellerView {
  switch (fact.type) {
    case 'SellerAppeared':
      return { ...view, live: true, fundsSat: fact.data.confirmedSat, attestedAt: fact.data.at }
    case 'FundsAttested':
      return { ...view, fundsSat: fact.data.confirmedSat, attestedAt: fact.data.at }
    case 'SellerFellSilent':
      return { ...view, live: false }
    case 'OutcomeRecorded':
      return { ...view, evidence: addOutcome(view.evidence, fact.data.outcome, fact.data.at) }
    case 'RailsGranted':
      return { ...view, granted: true }
    case 'RailsGrantRevoked':
      return { ...view, granted: false }
  }
}
