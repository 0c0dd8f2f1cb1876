import { NODE_BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { findUnmetRequirements, type CountsByName } from './counts.ts'
import { countOpeningsByBehaviour, type BehaviourEntry } from './behaviour-log.ts'

/** Faults that had an effect, counted from the market's facts, because a planned fault may have none. */
export type ChaosCoverage = {
  /** The number of open orders of the round at each kill of the market. */
  readonly openOrdersAtKills: readonly number[]
  /** The number of attempts after a failed attempt, over all rounds so far. */
  readonly failovers: number
  /** The number of fundings that a re-organisation removed, over all rounds so far. */
  readonly reorged: number
  /** The number of requests to open a channel by the seller's behaviour at the request, over all rounds so far. */
  readonly openingsByBehaviour: CountsByName
}

export function measureChaosCoverage(
  events: readonly Event[],
  openOrdersAtKills: readonly number[],
  behaviourLog: readonly BehaviourEntry[],
  aliasOf: (pubkey: string) => string | undefined,
): ChaosCoverage {
  // The category determines the type of a fact.
  const facts = events.flatMap(({ category, fact }) => (category === 'order' ? [fact as OrderFact] : []))
  return {
    openOrdersAtKills,
    failovers: facts.filter(({ type, data }) => type === 'AttemptStarted' && data.attempt > 1).length,
    reorged: facts.filter(({ type }) => type === 'FundingReorgedRecorded').length,
    openingsByBehaviour: countOpeningsByBehaviour(events, behaviourLog, aliasOf),
  }
}

type RoundCoverage = { readonly coverage: ChaosCoverage; readonly statuses: CountsByName }

/** Events that a run must include. The statuses are final statuses of orders whose sellers failed. */
const requirements: Readonly<Record<string, (round: RoundCoverage) => boolean>> = {
  'a channel that differed from the order': ({ statuses }) => (statuses['INVALID_CHANNEL_OPENING'] ?? 0) > 0,
  'a submitted funding that never appeared': ({ statuses }) => (statuses['SELLER_FAILED_TO_SEND_SWAP'] ?? 0) > 0,
  'an order for which no seller opened': ({ statuses }) => (statuses['SELLER_FAILED_TO_OPEN_CHANNEL'] ?? 0) > 0,
  'a failed seller with a successor': ({ coverage }) => coverage.failovers > 0,
  'a re-organisation that removed a funding': ({ coverage }) => coverage.reorged > 0,
  ...Object.fromEntries(
    NODE_BEHAVIOURS.map((behaviour) => [
      `a request to open for a seller that behaved "${behaviour}"`,
      ({ coverage }: RoundCoverage) => (coverage.openingsByBehaviour[behaviour] ?? 0) > 0,
    ]),
  ),
}

/** After this number of rounds each event must have occurred, because each round forces another behaviour of sellers. */
const MIN_ROUNDS = 8

/** @returns a sentence for each round without a kill during an open order, and for each required event that never occurred */
export const findMissingChaosCoverage = (rounds: readonly RoundCoverage[]): readonly string[] => [
  ...rounds.flatMap(({ coverage: { openOrdersAtKills } }, at) =>
    openOrdersAtKills.some((openOrders) => openOrders > 0)
      ? []
      : [`In round ${at + 1} there was no kill while an order was open.`],
  ),
  ...(rounds.length < MIN_ROUNDS ? [] : findUnmetRequirements(requirements, rounds)),
]
