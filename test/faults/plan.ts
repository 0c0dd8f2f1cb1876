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
export type Weather = { readonly atMs: number } &
  /** `lastsMs`: how long nothing else of its row happens at the least, and until an order shows it. */
  (
    | { readonly what: 'behave'; readonly alias: string; readonly how: Behaviour; readonly lastsMs?: number }
    | { readonly what: 'reorg'; readonly depth: number }
  )

export type Plan = {
  readonly purchases: readonly Purchase[]
  /** Each of these happens in its order, side by side with the others. */
  readonly weather: readonly (readonly Weather[])[]
  /** How long each life of the process lasts, counted from its start; some are too short for it to get ready. */
  readonly livesMs: readonly number[]
}

/** How all sellers behave for a while, whoever of them is asked, and until an order shows it. */
export type Fashion = { readonly how: Behaviour; readonly lastsMs: number }

/** How much happens in a round, and over what time the beginnings are spread. */
export type Extent = { readonly orders: number; readonly longMs: number; readonly fashion?: Fashion | undefined }

export const standardExtent: Extent = { orders: 15, longMs: 6000 }

/** Every behaviour but the usual one, and a round in which more is sold. Who never publishes comes twice, since much else may end such an order. */
const FASHIONS = ['wrong-size', 'slow', 'vanish', undefined, 'never-open', 'wrong-peer', 'silent', 'vanish'] as const

/** In turns, so that every ending that sellers lead to is reached in a few rounds; until nobody opens, three have to fail. */
export function fashionOf(round: number): Fashion | undefined {
  const how = FASHIONS[(round - 1) % FASHIONS.length]
  return how && { how, lastsMs: how === 'never-open' ? 12_000 : 5000 }
}

/** All choices of a round are made before it begins, so that a seed always gives the same ones. */
export function planOf(
  random: Random,
  people: { readonly market: string; readonly buyers: readonly string[]; readonly sellers: readonly string[] },
  { orders, longMs, fashion }: Extent = standardExtent,
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
      [
        ...BEHAVIOURS.map((how) => ({ what: 'behave', atMs: when(), alias: random.pick(people.sellers), how }) as const),
        ...people.sellers.map((alias) => ({ what: 'behave', atMs: when(), alias, how: 'ok' }) as const),
        ...(fashion ? together(people.sellers, fashion, random.between(0, longMs / 4)) : []),
      ],
      silence(random, people.market, when()),
      Array.from(
        { length: 3 },
        () => ({ what: 'reorg', atMs: random.between(1000, longMs + 3000), depth: random.between(2, 4) }) as const,
      ),
    ],
    livesMs: Array.from({ length: random.between(2, 4) }, () => random.between(100, 4500)),
  }
}

/** One moment after the other, so that nothing else comes between them. */
const together = (aliases: readonly string[], { how, lastsMs }: Fashion, atMs: number): readonly Weather[] => [
  ...aliases.map((alias) => ({ what: 'behave', atMs, alias, how, ...(alias === aliases.at(-1) && { lastsMs }) }) as const),
  ...aliases.map((alias) => ({ what: 'behave', atMs, alias, how: 'ok' }) as const),
]

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
