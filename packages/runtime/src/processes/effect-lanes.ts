import { createSemaphore, type Semaphore } from '@penstock/kernel/semaphore.ts'

type Lane = { readonly semaphore: Semaphore; runs: number }

/** Maximum concurrent runs per effect name. Calls that never end must not delay other effects, such as a cancel. */
export const MAX_CONCURRENT = 64
/** Maximum concurrent runs per effect name and lane. Calls to one host that never end leave most places to the other hosts. */
export const MAX_CONCURRENT_IN_LANE = 8

/** Runs work once its lane and its effect each have a free place. */
export type EffectLanes = <T>(name: string, lane: string | undefined, work: () => Promise<T>) => Promise<T>

/** Limits effects by their name, and by the lane that their step names: a host, a node or an endpoint. */
export function createEffectLanes(): EffectLanes {
  const places = new Map<string, Semaphore>()
  const lanes = new Map<string, Lane>()

  async function runInPlace<T>(name: string, work: () => Promise<T>): Promise<T> {
    const semaphore = places.get(name) ?? createSemaphore(MAX_CONCURRENT)
    places.set(name, semaphore)
    return runHolding(semaphore, work)
  }

  return async (name, laneName, work) => {
    if (laneName === undefined) return runInPlace(name, work)
    const key = `${name} ${laneName}`
    const lane = lanes.get(key) ?? { semaphore: createSemaphore(MAX_CONCURRENT_IN_LANE), runs: 0 }
    lanes.set(key, lane)
    lane.runs += 1
    try {
      // First the lane: a run that waits for its lane takes no place of the process.
      return await runHolding(lane.semaphore, () => runInPlace(name, work))
    } finally {
      lane.runs -= 1
      if (lane.runs === 0) lanes.delete(key)
    }
  }
}

async function runHolding<T>(semaphore: Semaphore, work: () => Promise<T>): Promise<T> {
  await semaphore.acquire()
  try {
    return await work()
  } finally {
    semaphore.release()
  }
}
