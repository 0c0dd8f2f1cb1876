import type { CurveLoad } from './curve-load.ts'
import type { LoadSettings } from '../settings.ts'

/** A load of a market that sells up to its capacity, and refuses the other orders. */
export const createCurveLoad = (perSecond: number, capacityPerSecond: number, changes: Partial<CurveLoad> = {}): CurveLoad => {
  const goodput = Math.min(perSecond, capacityPerSecond)
  return {
    perSecond,
    due: perSecond * 10,
    refused: (perSecond - goodput) * 10,
    sold: goodput * 10,
    goodput,
    lost: 0,
    buyP50Ms: 40,
    buyP99Ms: 90,
    endedBy: 'itself',
    failures: [],
    ...changes,
  }
}

export const curveSettings: LoadSettings = {
  orders: 100,
  ratePerSecond: 2,
  arrivals: 'constant',
  mix: [{ word: 'lsps1', percent: 100 }],
  seed: 1,
  durationMs: 1_800_000,
  privatePercent: 0,
  maxInFlight: 500,
  drainMs: 60_000,
  timeoutMs: 15_000,
  pollMs: 1000,
  to: [],
  sellers: null,
  allowErrors: 0,
  allowUnfinished: false,
  allowShed: false,
}
