import type { Book } from './books.ts'

/** What buyers of a round were told. */
export type Sales = {
  readonly round: number
  /** How many wanted to buy. */
  readonly planned: number
  /** The orders that they were given. */
  readonly bought: readonly string[]
  /** What those heard last who were given none. */
  readonly refusals: readonly string[]
}

/** @returns a sentence for each buyer that the market has wronged, and for each reason why there were too few of them */
export const salesFaults = ({ round, planned, bought, refusals }: Sales, books: readonly Book[]): readonly string[] => [
  ...purchaseFaults(planned, bought, books),
  ...refusalFaults(planned, bought, refusals),
  ...doorFaults(round, books),
]

/** Of three buyers two get an invoice, whatever strikes the market meanwhile: they ask again and again. */
const [OF, GET] = [3, 2]

/**
 * A market that sells nothing has no faults to find.
 * @param planned how many wanted to buy in a round @param bought the orders that these were told
 * @returns a sentence where too few bought, and for each order that only its buyer knows
 */
export function purchaseFaults(planned: number, bought: readonly string[], books: readonly Book[]): readonly string[] {
  const kept = new Set(books.filter(({ status }) => status !== undefined).map(({ id }) => id))
  return [
    ...(bought.length * OF < planned * GET ? [`only ${bought.length} of ${planned} buyers got an invoice`] : []),
    ...bought.filter((id) => !kept.has(id)).map((id) => `a buyer was given order ${id}, and the market has none`),
  ]
}

/** What a market may say to the end, though it sells and nothing strikes it any more. */
const EXPLAINED: readonly RegExp[] = []

/**
 * Of buyers who ask until the market is calm each gets an invoice, or hears a reason that the plan explains.
 * @param refusals what those heard last who got none
 */
const refusalFaults = (planned: number, bought: readonly string[], refusals: readonly string[]): readonly string[] => [
  ...refusals
    .filter((refusal) => !EXPLAINED.some((known) => known.test(refusal)))
    .map((refusal) => `a buyer was refused when nothing struck any more: ${refusal}`),
  ...(bought.length + refusals.length === planned
    ? []
    : [`${planned} wanted to buy, ${bought.length} did, and ${refusals.length} were refused`]),
]

/** By then each door was knocked at often enough, by the plan's chances. */
const ROUNDS = 3

/** @returns a sentence for each door through which nothing was sold in so many rounds */
export function doorFaults(rounds: number, books: readonly Book[]): readonly string[] {
  if (rounds < ROUNDS) return []
  const sources = new Set(books.map(({ source }) => source))
  return [
    ...(sources.has('buy') ? [] : [`nobody bought by GraphQL in ${rounds} rounds`]),
    ...(sources.has('lsps1-cheapest') || sources.has('lsps1-recommended') ? [] : [`nobody bought by LSPS1 in ${rounds} rounds`]),
  ]
}
