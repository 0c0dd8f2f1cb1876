import type { FaultKind } from '@penstock/adapters/seeded/faults.ts'
import type { Plan } from './plan.ts'

/**
 * Makes a failing plan smaller for as long as it goes on breaking the same invariant: fewer purchases, deaths, deeds and
 * changes of weather, fewer kinds of faults, no old contracts, clocks that agree.
 * @param breaks whether a plan still fails as the first one did
 */
export async function shrink(plan: Plan, breaks: (smaller: Plan) => Promise<boolean>, most = 80): Promise<Plan> {
  let best = plan
  let tries = 0
  for (let isBetter = true; isBetter && tries < most;) {
    isBetter = false
    for (const smaller of smallerOnes(best)) {
      if (tries++ >= most) break
      if (!(await breaks(smaller))) continue
      best = smaller
      isBetter = true
      break
    }
  }
  return best
}

/** How much there is in a plan. */
export const sizeOf = ({ purchases, weather, deeds, deaths, fatalCalls, cues, faults, old, skewMs }: Plan): number =>
  purchases.length +
  weather.length +
  deeds.length +
  deaths.length +
  fatalCalls.length +
  cues.length +
  Object.keys(faults).length +
  old.length +
  Object.keys(skewMs).length

/** The larger cuts first: half of a list, then one of it. */
function* smallerOnes(plan: Plan): Generator<Plan> {
  const kinds = Object.keys(plan.faults) as FaultKind[]
  const only = (kept: readonly FaultKind[]): Plan => ({
    ...plan,
    faults: Object.fromEntries(kept.map((kind) => [kind, plan.faults[kind]])),
  })
  if (kinds.length > 0) yield only([])
  if (plan.old.length > 0) yield { ...plan, old: [] }
  if (Object.keys(plan.skewMs).length > 0) yield { ...plan, skewMs: {} }
  for (const deaths of without(plan.deaths)) yield { ...plan, deaths }
  for (const fatalCalls of without(plan.fatalCalls)) yield { ...plan, fatalCalls }
  for (const cues of without(plan.cues)) yield { ...plan, cues }
  for (const weather of without(plan.weather)) yield { ...plan, weather }
  for (const deeds of without(plan.deeds)) yield { ...plan, deeds }
  for (const purchases of without(plan.purchases)) yield { ...plan, purchases }
  for (const kept of without(kinds)) yield only(kept)
}

function* without<T>(list: readonly T[]): Generator<readonly T[]> {
  const half = Math.ceil(list.length / 2)
  if (list.length > 1) {
    yield []
    yield list.slice(half)
    yield list.slice(0, half)
  }
  for (const index of list.keys()) yield list.toSpliced(index, 1)
}
