import type { OrderModel } from './order-model.ts'

/** The results that the buyers of a round got. */
export type RoundSales = {
  readonly round: number
  /** The number of planned purchases, each by its own buyer. */
  readonly plannedCount: number
  /** Ids of the orders that buyers received. */
  readonly boughtIds: readonly string[]
  /** The last refusal of each buyer without an order. */
  readonly refusals: readonly string[]
}

/** @returns a sentence for each violation in the purchases of a round */
export const checkSales = (
  { round, plannedCount, boughtIds, refusals }: RoundSales,
  orders: readonly OrderModel[],
): readonly string[] => [
  ...checkPurchases(plannedCount, boughtIds, orders),
  ...checkRefusals(plannedCount, boughtIds, refusals),
  ...checkPurchaseApis(round, orders),
]

/** Buyers retry, so at least two of three must get an invoice despite all faults. */
const [PLANNED_SHARE, INVOICED_SHARE] = [3, 2]

/**
 * Checks that enough buyers got an invoice, because a market without sales would pass all other checks.
 * @param plannedCount the number of planned purchases @param boughtIds ids of the orders that buyers received
 * @returns a sentence if too few bought, and a sentence for each order that the market does not know
 */
export function checkPurchases(
  plannedCount: number,
  boughtIds: readonly string[],
  orders: readonly OrderModel[],
): readonly string[] {
  const knownIds = new Set(orders.filter(({ status }) => status !== undefined).map(({ id }) => id))
  return [
    ...(boughtIds.length * PLANNED_SHARE < plannedCount * INVOICED_SHARE
      ? [`only ${boughtIds.length} of ${plannedCount} buyers got an invoice`]
      : []),
    ...boughtIds.filter((id) => !knownIds.has(id)).map((id) => `a buyer was given order ${id}, and the market has none`),
  ]
}

/** Refusals that a market that sells may give after the end of all faults. There are none today. */
const EXPECTED_REFUSALS: readonly RegExp[] = []

/**
 * Checks that each buyer got an invoice or an expected refusal. Buyers retry until some time after the last fault.
 * @param refusals the last refusal of each buyer without an order
 */
const checkRefusals = (plannedCount: number, boughtIds: readonly string[], refusals: readonly string[]): readonly string[] => [
  ...refusals
    .filter((refusal) => !EXPECTED_REFUSALS.some((pattern) => pattern.test(refusal)))
    .map((refusal) => `a buyer was refused after the end of all faults: ${refusal}`),
  ...(boughtIds.length + refusals.length === plannedCount
    ? []
    : [`${plannedCount} buyers were planned, ${boughtIds.length} bought, and ${refusals.length} were refused`]),
]

/** After this number of rounds, buyers have almost certainly used each API, by the probabilities of the plans. */
const MIN_ROUNDS = 3

/** @returns a sentence for each API without an order, after `MIN_ROUNDS` rounds or more */
export function checkPurchaseApis(rounds: number, orders: readonly OrderModel[]): readonly string[] {
  if (rounds < MIN_ROUNDS) return []
  const sources = new Set(orders.map(({ source }) => source))
  return [
    ...(sources.has('buy') ? [] : [`no order by GraphQL in ${rounds} rounds`]),
    ...(sources.has('lsps1-cheapest') || sources.has('lsps1-recommended') ? [] : [`no order by LSPS1 in ${rounds} rounds`]),
  ]
}
