import type { sellerOutcome } from '@penstock/contracts/matching.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'

export type Outcome = (typeof sellerOutcome)['options'][number]

/** What a score is folded from, as it is published with it. The weights are those at `asOf`. */
export type Evidence = {
  readonly counts: Readonly<Partial<Record<Outcome, number>>>
  readonly goodWeight: number
  readonly totalWeight: number
  readonly asOf: number
}

export const noEvidence: Evidence = { counts: {}, goodWeight: 0, totalWeight: 0, asOf: 0 }

/** After so long an outcome counts half. */
const HALF_LIFE_DAYS = 30

/**
 * Nobody is known at first: as if there were this much evidence of a seller that is good half of the time. With a
 * threshold of 0.95 it takes 18 fresh sales without a fault to enter the rails cluster by score.
 */
const PRIOR = { score: 0.5, weight: 2 }

/** What harms the buyer more weighs more. A rejection is an answer: it is counted and shown, and costs nothing. */
const weights: Readonly<Record<Outcome, { readonly good: boolean; readonly weight: number }>> = {
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

const decay = (fromAt: number, toAt: number): number => 0.5 ** (Math.max(0, toAt - fromAt) / (HALF_LIFE_DAYS * DAY_MS))

/** @param at when it came out, in milliseconds since 1970; one that comes late counts as old as it is */
export function withOutcome(evidence: Evidence, outcome: Outcome, at: number): Evidence {
  const asOf = Math.max(evidence.asOf, at)
  const kept = decay(evidence.asOf, asOf)
  const { good, weight } = weights[outcome]
  const added = weight * decay(at, asOf)
  return {
    counts: { ...evidence.counts, [outcome]: (evidence.counts[outcome] ?? 0) + 1 },
    goodWeight: evidence.goodWeight * kept + (good ? added : 0),
    totalWeight: evidence.totalWeight * kept + added,
    asOf,
  }
}

/** @returns from 0 to 1; where all evidence has faded, that of somebody whom nobody knows */
export function scoreOf(evidence: Evidence, now: number): number {
  const kept = decay(evidence.asOf, now)
  return (PRIOR.score * PRIOR.weight + evidence.goodWeight * kept) / (PRIOR.weight + evidence.totalWeight * kept)
}

/** Sales that ended with a valid channel. */
export const salesOf = (evidence: Evidence): number => evidence.counts.valid ?? 0
