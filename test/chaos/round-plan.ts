import { type NodeBehaviour, NODE_BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import type { SeededRandom } from './random.ts'

/** One planned purchase. Times are in milliseconds since the start of the round. */
export type PlannedPurchase = {
  readonly atMs: number
  readonly buyer: string
  /** The API: GraphQL's `buy`, or LSPS1. */
  readonly api: 'buy' | 'lsps1'
  readonly options: { readonly private: boolean; readonly rails_cluster_only: boolean }
  readonly usdCents: string
  /** The action of the buyer `afterMs` after it got the invoice; `leave` means no action. */
  readonly afterwards: 'pay' | 'pay twice' | 'leave' | 'cancel'
  readonly afterMs: number
}

/** A change of the network during a round. */
export type NetworkChange = { readonly atMs: number } &
  /** `lastsMs`: with it, the next change of the row waits for this time, and then until an order shows the behaviour. */
  (
    | { readonly kind: 'behave'; readonly alias: string; readonly behaviour: NodeBehaviour; readonly lastsMs?: number }
    | { readonly kind: 'reorg'; readonly depth: number }
  )

export type RoundPlan = {
  readonly purchases: readonly PlannedPurchase[]
  /** The changes of each row happen in order, and the rows in parallel. */
  readonly networkChanges: readonly (readonly NetworkChange[])[]
  /** The time from each start of the market to its kill. Some are too short for the market to become ready. */
  readonly uptimesMs: readonly number[]
}

/** A behaviour of all sellers. It lasts at least `lastsMs`, and until an order shows it. */
export type SellerBehaviour = { readonly behaviour: NodeBehaviour; readonly lastsMs: number }

/** `orders`: the number of purchases in a round. `durationMs`: the time over which their starts are spread. */
export type RoundSize = {
  readonly orders: number
  readonly durationMs: number
  readonly sellerBehaviour?: SellerBehaviour | undefined
}

export const standardRoundSize: RoundSize = { orders: 15, durationMs: 6000 }

/**
 * Every behaviour except `ok`, and `undefined` for a round with more sales. `vanish` occurs twice, because an order with `vanish`
 * may end for another cause.
 */
const SELLER_BEHAVIOURS = ['wrong-size', 'slow', 'vanish', undefined, 'never-open', 'wrong-peer', 'silent', 'vanish'] as const

/**
 * Chooses the behaviours in turn, so that eight rounds reach every final status that sellers cause. `never-open` lasts longer,
 * because three sellers have to fail before an order fails.
 */
export function chooseSellerBehaviour(round: number): SellerBehaviour | undefined {
  const behaviour = SELLER_BEHAVIOURS[(round - 1) % SELLER_BEHAVIOURS.length]
  return behaviour && { behaviour, lastsMs: behaviour === 'never-open' ? 12_000 : 5000 }
}

/** Plans a round. All random choices are made before the round starts, so that a seed always gives the same plan. */
export function planRound(
  random: SeededRandom,
  participants: { readonly market: string; readonly buyers: readonly string[]; readonly sellers: readonly string[] },
  { orders, durationMs, sellerBehaviour }: RoundSize = standardRoundSize,
): RoundPlan {
  const pickTime = (): number => random.between(0, durationMs)
  return {
    purchases: Array.from({ length: orders }, () => ({
      atMs: pickTime(),
      buyer: random.pick(participants.buyers),
      api: random.chance(0.8) ? 'buy' : 'lsps1',
      options: { private: random.chance(0.3), rails_cluster_only: random.chance(0.2) },
      usdCents: `${random.between(500, 2500)}`,
      afterwards: chooseAfterwards(random),
      afterMs: random.between(0, 1500),
    })),
    networkChanges: [
      // Every behaviour occurs at least once, and 'ok' more often, so that channels are sold.
      [
        ...NODE_BEHAVIOURS.map(
          (behaviour) => ({ kind: 'behave', atMs: pickTime(), alias: random.pick(participants.sellers), behaviour }) as const,
        ),
        ...participants.sellers.map((alias) => ({ kind: 'behave', atMs: pickTime(), alias, behaviour: 'ok' }) as const),
        ...(sellerBehaviour ? changeAllSellers(participants.sellers, sellerBehaviour, random.between(0, durationMs / 4)) : []),
      ],
      planSilence(random, participants.market, pickTime()),
      Array.from(
        { length: 3 },
        () => ({ kind: 'reorg', atMs: random.between(1000, durationMs + 3000), depth: random.between(2, 4) }) as const,
      ),
    ],
    uptimesMs: Array.from({ length: random.between(2, 4) }, () => random.between(100, 4500)),
  }
}

/** Gives all sellers one behaviour, and then `ok`. All changes have one time, so no other change of the row comes in between. */
const changeAllSellers = (
  aliases: readonly string[],
  { behaviour, lastsMs }: SellerBehaviour,
  atMs: number,
): readonly NetworkChange[] => [
  ...aliases.map((alias) => ({ kind: 'behave', atMs, alias, behaviour, ...(alias === aliases.at(-1) && { lastsMs }) }) as const),
  ...aliases.map((alias) => ({ kind: 'behave', atMs, alias, behaviour: 'ok' }) as const),
]

/** In half of the rounds, the market's own node does not answer for a while. */
const planSilence = (random: SeededRandom, alias: string, atMs: number): readonly NetworkChange[] =>
  random.chance(0.5)
    ? [
        { kind: 'behave', atMs, alias, behaviour: 'silent' },
        { kind: 'behave', atMs: atMs + random.between(300, 2500), alias, behaviour: 'ok' },
      ]
    : []

function chooseAfterwards(random: SeededRandom): PlannedPurchase['afterwards'] {
  const roll = random.next()
  if (roll < 0.75) return 'pay'
  if (roll < 0.85) return 'pay twice'
  return roll < 0.93 ? 'leave' : 'cancel'
}
