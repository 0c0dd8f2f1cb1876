import { type Behaviour, BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import type { Random } from './random.ts'

/** One buyer's intentions. Times are milliseconds from the beginning of the round. */
export type Purchase = {
  readonly atMs: number
  readonly buyer: string
  /** By GraphQL's `buy`, or as a wallet does it by LSPS1. */
  readonly by: 'buy' | 'lsps1'
  readonly options: { readonly private: boolean; readonly rails_cluster_only: boolean }
  readonly usdCents: string
  readonly then: 'pay' | 'pay twice' | 'leave' | 'cancel'
  readonly afterMs: number
}

/** What the world does meanwhile. */
export type Weather = { readonly atMs: number } & (
  | { readonly what: 'behave'; readonly alias: string; readonly how: Behaviour }
  | { readonly what: 'reorg'; readonly depth: number }
)

export type Plan = {
  readonly purchases: readonly Purchase[]
  readonly weather: readonly Weather[]
  /** How long each life of the process lasts, counted from its start; some are too short for it to get ready. */
  readonly livesMs: readonly number[]
}

/** How much happens in a round, and over what time the beginnings are spread. */
export type Extent = { readonly orders: number; readonly longMs: number }

const STANDARD: Extent = { orders: 15, longMs: 6000 }

/** All choices of a round are made before it begins, so that a seed always gives the same ones. */
export function planOf(
  random: Random,
  people: { readonly market: string; readonly buyers: readonly string[]; readonly sellers: readonly string[] },
  { orders, longMs }: Extent = STANDARD,
): Plan {
  const when = (): number => random.between(0, longMs)
  return {
    purchases: Array.from({ length: orders }, () => ({
      atMs: when(),
      buyer: random.pick(people.buyers),
      by: random.chance(0.8) ? 'buy' : 'lsps1',
      options: { private: random.chance(0.3), rails_cluster_only: random.chance(0.2) },
      usdCents: `${random.between(500, 2500)}`,
      then: thenOf(random),
      afterMs: random.between(0, 1500),
    })),
    weather: [
      // Every behaviour once at the least, and more often one that lets something be sold.
      ...BEHAVIOURS.map((how) => ({ what: 'behave', atMs: when(), alias: random.pick(people.sellers), how }) as const),
      ...people.sellers.map((alias) => ({ what: 'behave', atMs: when(), alias, how: 'ok' }) as const),
      ...silence(random, people.market, when()),
      ...Array.from(
        { length: 3 },
        () => ({ what: 'reorg', atMs: random.between(1000, longMs + 3000), depth: random.between(1, 4) }) as const,
      ),
    ],
    livesMs: Array.from({ length: random.between(2, 4) }, () => random.between(100, 4500)),
  }
}

/** Now and then the market's own node answers nothing for a while. */
const silence = (random: Random, alias: string, atMs: number): readonly Weather[] =>
  random.chance(0.5)
    ? [
        { what: 'behave', atMs, alias, how: 'silent' },
        { what: 'behave', atMs: atMs + random.between(300, 2500), alias, how: 'ok' },
      ]
    : []

function thenOf(random: Random): Purchase['then'] {
  const roll = random.next()
  if (roll < 0.75) return 'pay'
  if (roll < 0.85) return 'pay twice'
  return roll < 0.93 ? 'leave' : 'cancel'
}
