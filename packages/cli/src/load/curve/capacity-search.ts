import { MAX_RATE } from '../settings.ts'
import type { CurveLoad } from './curve-load.ts'

/** The search ends if a doubled rate raises the goodput by less than this factor. */
const MIN_GROWTH = 1.25

export type CapacitySearch = {
  readonly loads: readonly CurveLoad[]
  /** The highest goodput of the search. */
  readonly capacityPerSecond: number
  /** Whether the goodput still grew at the last rate, so that the capacity may be higher. */
  readonly isGrowing: boolean
}

/**
 * Doubles the rate until the goodput no longer grows by a quarter. The goodput of a market beyond its capacity is flat, so a
 * doubled rate tells it from the noise of a short load.
 */
export async function searchCapacity(
  startRate: number,
  loadAt: (ratePerSecond: number) => Promise<CurveLoad>,
): Promise<CapacitySearch> {
  const loads: CurveLoad[] = []
  for (let rate = startRate; ; rate *= 2) {
    const previous = loads.at(-1)
    const load = await loadAt(rate)
    loads.push(load)
    const isGrowing = previous === undefined || load.goodput >= previous.goodput * MIN_GROWTH
    if (load.sold > 0 && load.endedBy !== 'interrupt' && isGrowing && rate * 2 <= MAX_RATE) continue
    return { loads, capacityPerSecond: Math.max(...loads.map(({ goodput }) => goodput)), isGrowing }
  }
}
