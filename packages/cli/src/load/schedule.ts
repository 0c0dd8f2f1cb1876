import { seeded } from './random.ts'
import { draw, type Kind, type Shares } from './shares.ts'

/** One order that is to come, whatever became of those before it. */
export type Arrival = {
  /** After the beginning of the run. */
  readonly atMs: number
  readonly kind: Kind
  /** Which of the buyers' nodes, counted round. */
  readonly buyer: number
  readonly isPrivate: boolean
}

export type Pace = {
  readonly orders: number
  readonly ratePerSecond: number
  /** `constant`: evenly spaced. `poisson`: as independent people come, with the same rate on average. */
  readonly arrivals: 'constant' | 'poisson'
  readonly mix: Shares<Kind>
  readonly seed: number
  /** No order is begun later than this. */
  readonly durationMs: number
  /**
   * Of how many a private channel is wanted; not of those by hand, whose seller may not sell any. A probe proves a private
   * channel only to a buyer that has no other channel with its seller, so that many of them to a few nodes wait long.
   */
  readonly privatePercent: number
}

/** When each order is to begin: fixed before the first of them, so that a slow market cannot slow down its load. */
export function schedule({ orders, ratePerSecond, arrivals, mix, seed, durationMs, privatePercent }: Pace): readonly Arrival[] {
  const random = seeded(seed)
  const gapMs = 1000 / ratePerSecond
  const list: Arrival[] = []
  let atMs = 0
  for (let index = 0; index < orders; index++) {
    // 1 - random: the logarithm of nothing is no time.
    atMs = arrivals === 'constant' ? index * gapMs : atMs + -Math.log(1 - random()) * gapMs
    if (atMs > durationMs) break
    const kind = draw(mix, random)
    const buyer = Math.floor(random() * 2 ** 16)
    list.push({ atMs, kind, buyer, isPrivate: random() * 100 < privatePercent && kind !== 'manual' })
  }
  return list
}
