import { createRandomGenerator } from './random.ts'
import { drawFromMix, type OrderKind, type Mix } from './mix.ts'

/** One planned order. It starts at its time, regardless of the earlier orders. */
export type Arrival = {
  /** Milliseconds from the start of the run. */
  readonly atMs: number
  readonly kind: OrderKind
  /** A random number; modulo the number of buyers it is the index of the buyer's node. */
  readonly buyer: number
  readonly isPrivate: boolean
}

export type WorkloadSettings = {
  readonly orders: number
  readonly ratePerSecond: number
  /** `constant`: evenly spaced. `poisson`: random, as from independent buyers, with the same mean rate. */
  readonly arrivals: 'constant' | 'poisson'
  readonly mix: Mix<OrderKind>
  readonly seed: number
  /** Milliseconds from the start of the run, after which no order starts. */
  readonly durationMs: number
  /**
   * The percentage of orders for a private channel. Manual orders are never private, because their seller may not sell private
   * channels. A probe proves a private channel only if its two nodes have no other channel. So few buyers with many private
   * orders wait long.
   */
  readonly privatePercent: number
}

/** Fixes the start time of every order before the run, so that a slow market cannot slow down its load. */
export function scheduleArrivals({
  orders,
  ratePerSecond,
  arrivals,
  mix,
  seed,
  durationMs,
  privatePercent,
}: WorkloadSettings): readonly Arrival[] {
  const random = createRandomGenerator(seed)
  const gapMs = 1000 / ratePerSecond
  const list: Arrival[] = []
  let atMs = 0
  for (let index = 0; index < orders; index++) {
    // `random()` may be 0, whose logarithm is infinite; `1 - random()` is never 0.
    atMs = arrivals === 'constant' ? index * gapMs : atMs + -Math.log(1 - random()) * gapMs
    if (atMs > durationMs) break
    const kind = drawFromMix(mix, random)
    const buyer = Math.floor(random() * 2 ** 16)
    list.push({ atMs, kind, buyer, isPrivate: random() * 100 < privatePercent && kind !== 'manual' })
  }
  return list
}
