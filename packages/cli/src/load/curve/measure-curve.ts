import { Failure } from '../../failure.ts'
import { type CapacitySearch, searchCapacity } from './capacity-search.ts'
import type { CurveLoad } from './curve-load.ts'
import type { Recovery } from './recovery.ts'

/** The multiples of the capacity at which the curve is measured. */
export const LOAD_FACTORS = [0.5, 1, 2, 4] as const

export type CurvePoint = CurveLoad & {
  /** Multiple of the capacity. */
  readonly factor: number
}

export type Curve = {
  readonly search: CapacitySearch
  /** One point per factor; fewer if Ctrl-C ended the curve. */
  readonly points: readonly CurvePoint[]
  /** Null if the overload was not reached, or if no purchase of the first point got an invoice. */
  readonly recovery: Recovery | null
}

export type CurveSource = {
  /** Runs one load. @param onArrivalsEnd called when no further order starts */
  readonly loadAt: (ratePerSecond: number, title: string, onArrivalsEnd?: () => void) => Promise<CurveLoad>
  /** Starts at the end of the heaviest load. */
  readonly measureRecovery: (normalP50Ms: number) => Promise<Recovery>
}

/** Finds the capacity, and measures a load at each factor of it. @throws Failure if the market sells nothing */
export async function measureCurve(startRate: number, source: CurveSource): Promise<Curve> {
  const search = await searchCapacity(startRate, (rate) => source.loadAt(rate, 'Search of the capacity'))
  const points: CurvePoint[] = []
  const isInterrupted = (): boolean => [...search.loads, ...points].some(({ endedBy }) => endedBy === 'interrupt')
  if (search.capacityPerSecond === 0 && !isInterrupted())
    throw new Failure(
      ['The market sold nothing, so that its capacity is unknown.', ...search.loads.flatMap(({ failures }) => failures)].join(
        '\n',
      ),
    )
  let recovery: Recovery | null = null
  for (const factor of LOAD_FACTORS) {
    if (isInterrupted()) break
    const rate = roundRate(search.capacityPerSecond * factor)
    const title = nameFactor(factor)
    const normalP50Ms = points[0]?.buyP50Ms ?? null
    if (factor !== LOAD_FACTORS.at(-1) || normalP50Ms === null) {
      points.push({ factor, ...(await source.loadAt(rate, title)) })
      continue
    }
    // The orders of the overload are still in flight when it ends, so its load continues during the measurement.
    const overloadEnd = Promise.withResolvers<void>()
    const [load, measured] = await Promise.all([
      source.loadAt(rate, title, overloadEnd.resolve),
      overloadEnd.promise.then(() => source.measureRecovery(normalP50Ms)),
    ])
    points.push({ factor, ...load })
    recovery = measured
  }
  return { search, points, recovery }
}

export const nameFactor = (factor: number): string => `${factor} ${factor === 1 ? 'time' : 'times'} the capacity`

const roundRate = (perSecond: number): number => Math.max(0.001, Math.round(perSecond * 1000) / 1000)
