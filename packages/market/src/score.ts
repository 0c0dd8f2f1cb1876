import type { sellerOutcome } from '@penstock/contracts/matching.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'

export type SellerOutcome = (typeof sellerOutcome)['options'][number]

/** The evidence behind a score, published with the score. The weights are as of `asOf` (milliseconds since 1970). */
export type ScoreEvidence = {
  readonly counts: Readonly<Partial<Record<SellerOutcome, number>>>
  readonly goodWeight: number
  readonly totalWeight: number
  readonly asOf: number
}

export const noEvidence: ScoreEvidence = { counts: {}, goodWeight: 0, totalWeight: 0, asOf: 0 }

/** The time after which an outcome has half of its weight. */
const HALF_LIFE_DAYS = 30

/**
 * A new seller starts with this score, which has the weight of two outcomes. With a threshold of 0.95, a new seller needs 18
 * recent sales without a fault to enter the rails cluster by score.
 */
const PRIOR = { score: 0.5, weight: 2 }

/** An outcome that harms the buyer more has more weight. A rejection is counted and shown, but does not lower the score. */
const OUTCOME_WEIGHTS: Readonly<Record<SellerOutcome, { readonly good: boolean; readonly weight: number }>> = {
  valid: { good: true, weight: 1 },
  'lease-kept': { good: true, weight: 1 },
  rejected: { good: true, weight: 0 },
  'no-reaction': { good: false, weight: 1 },
  'failed-to-open': { good: false, weight: 1 },
  'failed-to-send': { good: false, weight: 2 },
  'closed-early': { good: false, weight: 3 },
  'promise-broken': { good: false, weight: 2 },
  invalid: { good: false, weight: 4 },
}

const decayFactor = (fromAt: number, toAt: number): number => 0.5 ** (Math.max(0, toAt - fromAt) / (HALF_LIFE_DAYS * DAY_MS))

/** @param at time of the outcome, in milliseconds since 1970; a late outcome counts with its true age */
export function addOutcome(evidence: ScoreEvidence, outcome: SellerOutcome, at: number): ScoreEvidence {
  const asOf = Math.max(evidence.asOf, at)
  const remaining = decayFactor(evidence.asOf, asOf)
  const { good, weight } = OUTCOME_WEIGHTS[outcome]
  const added = weight * decayFactor(at, asOf)
  return {
    counts: { ...evidence.counts, [outcome]: (evidence.counts[outcome] ?? 0) + 1 },
    goodWeight: evidence.goodWeight * remaining + (good ? added : 0),
    totalWeight: evidence.totalWeight * remaining + added,
    asOf,
  }
}

/** @returns a score from 0 to 1; once all evidence has decayed, the score of a new seller */
export function computeScore(evidence: ScoreEvidence, now: number): number {
  const remaining = decayFactor(evidence.asOf, now)
  return (PRIOR.score * PRIOR.weight + evidence.goodWeight * remaining) / (PRIOR.weight + evidence.totalWeight * remaining)
}

/** @returns the number of sales that ended with a valid channel */
export const countValidSales = (evidence: ScoreEvidence): number => evidence.counts.valid ?? 0
