import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { buildOrderModels } from '../../support/invariants/order-model.ts'
import { type CountsByName, countNames, findUnmetRequirements, formatCounts } from '../counts.ts'
import type { Victim } from './fault-plan.ts'

const VICTIM_NAMES = ['the market', "the market's lnd", 'an agent', "a seller's lnd"] as const

/** A kill, with the number of orders whose payment the market held at that moment. */
export type KillRecord = { readonly victim: (typeof VICTIM_NAMES)[number]; readonly heldCount: number }

/**
 * The result of two payments at their common last height. `isSettled`: the payment with a confirmed channel was settled.
 * `isCancelled`: the payment without a confirmed channel was cancelled.
 */
export type LastHeightRun = {
  /** Faults up to the last height, with the number of held payments at each. */
  readonly faults: readonly { readonly kind: KillRecord['victim'] | 'a re-org of two blocks'; readonly heldCount: number }[]
  readonly isSettled: boolean
  readonly isCancelled: boolean
}

/** Faults that occurred and actions of the market, counted from facts, because a planned fault may have no effect. */
export type LightningCoverage = {
  readonly kills: readonly KillRecord[]
  readonly lastHeightRuns: readonly LastHeightRun[]
  /** The number of fundings that a re-organisation removed. This and the counts below cover all rounds so far. */
  readonly reorged: number
  readonly settled: number
  readonly sellersPaid: number
  readonly cancelled: number
}

export function nameVictim({ kind, alias }: Victim): KillRecord['victim'] {
  const isMarket = alias === 'market'
  if (kind === 'lnd') return isMarket ? "the market's lnd" : "a seller's lnd"
  return isMarket ? 'the market' : 'an agent'
}

export function measureLightningCoverage(
  events: readonly Event[],
  kills: readonly KillRecord[],
  lastHeightRuns: readonly LastHeightRun[],
): LightningCoverage {
  const orders = buildOrderModels(events)
  // The category determines the type of a fact.
  const facts = events.flatMap(({ category, fact }) => (category === 'order' ? [fact as OrderFact] : []))
  return {
    kills,
    lastHeightRuns,
    reorged: facts.filter(({ type }) => type === 'FundingReorgedRecorded').length,
    settled: orders.filter(({ settlements }) => settlements.length > 0).length,
    sellersPaid: orders.filter(({ payouts }) => payouts.length > 0).length,
    cancelled: orders.filter(({ isHeld, cancellations }) => isHeld && cancellations.length > 0).length,
  }
}

type LightningRound = { readonly coverage: LightningCoverage }

/** Events that a run must include. Each key completes the sentence "There never was …". */
const requirements: Readonly<Record<string, (round: LightningRound) => boolean>> = {
  ...Object.fromEntries(
    VICTIM_NAMES.map((victim) => [
      `a kill of ${victim} while a payment was held`,
      ({ coverage: { kills } }: LightningRound) =>
        kills.some(({ victim: victimName, heldCount }) => victimName === victim && heldCount > 0),
    ]),
  ),
  'a re-organisation that removed a funding': ({ coverage }) => coverage.reorged > 0,
  'a hold that was settled': ({ coverage }) => coverage.settled > 0,
  'a seller that was paid': ({ coverage }) => coverage.sellersPaid > 0,
  'a hold that was cancelled': ({ coverage }) => coverage.cancelled > 0,
  'a fault before a last height while payments were held': ({ coverage: { lastHeightRuns } }) =>
    lastHeightRuns.some(({ faults }) => faults.some(({ heldCount }) => heldCount > 0)),
  'a hold that was settled at its last height': ({ coverage: { lastHeightRuns } }) =>
    lastHeightRuns.some(({ isSettled }) => isSettled),
  'a hold that was cancelled at its last height': ({ coverage: { lastHeightRuns } }) =>
    lastHeightRuns.some(({ isCancelled }) => isCancelled),
}

/** @returns a sentence for each required event that never occurred */
export const findMissingLightningCoverage = (rounds: readonly LightningRound[]): readonly string[] =>
  findUnmetRequirements(requirements, rounds)

/** Formats the coverage for the log line of a round. */
export const formatLightningCoverage = ({
  kills,
  lastHeightRuns,
  reorged,
  settled: settlements,
  sellersPaid,
  cancelled,
}: LightningCoverage): string =>
  [
    ...lastHeightRuns.map(({ faults }) => `before a last height ${formatCounts(countNames(faults.map(({ kind }) => kind)))}`),
    `killed ${formatCounts(countKills(kills))}`,
    `${reorged} re-orged, ${settlements} settled, ${sellersPaid} sellers paid, ${cancelled} cancelled`,
  ].join('; ')

const countKills = (kills: readonly KillRecord[]): CountsByName =>
  countNames(kills.map(({ victim: victimName, heldCount }) => `${victimName} with ${heldCount} held`))
