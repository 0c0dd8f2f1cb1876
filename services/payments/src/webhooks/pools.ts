/** A call in progress. It counts among the quick calls until it has taken too long. */
export type Call = { readonly endpointId: string; readonly startedAt: number }

type Lane = { allowed: number; active: number; wasQuick: boolean }

/** Calls at once: quick calls of the process, slow calls of the process, calls of an endpoint. */
export const MAX_QUICK = 64
export const MAX_SLOW = 256
export const MAX_PER_ENDPOINT = 4
/** A call that takes longer gives its place among the quick calls back. */
export const SLOW_AFTER_MS = 1000
/** The known endpoints without a call. An endpoint that is forgotten begins again with one call at once. */
const MAX_IDLE_LANES = 10_000

export type Pools = ReturnType<typeof createPools>

/**
 * Bounds the calls of a process, so that endpoints that hang do not take the places of the others. An endpoint begins with one
 * call at once, and gets one more with each success; a failure sets it back to one. If too many calls are slow, only endpoints
 * whose last call was quick are called. Times are readings of the monotonic clock.
 */
export function createPools() {
  const lanes = new Map<string, Lane>()
  const quick = new Set<Call>()
  const slow = new Set<Call>()

  const moveSlowCalls = (now: number): void => {
    for (const call of quick) {
      // Calls are in the order of their starts.
      if (now - call.startedAt < SLOW_AFTER_MS || slow.size >= MAX_SLOW) return
      quick.delete(call)
      slow.add(call)
    }
  }
  const laneOf = (endpointId: string): Lane => {
    const known = lanes.get(endpointId)
    if (known) return known
    const lane = { allowed: 1, active: 0, wasQuick: false }
    lanes.set(endpointId, lane)
    return lane
  }
  const forgetIdle = (): void => {
    if (lanes.size <= MAX_IDLE_LANES) return
    for (const [id, { active }] of lanes) if (active === 0) lanes.delete(id)
  }

  return {
    /** The calls that the process may begin now. */
    countFree(now: number): number {
      moveSlowCalls(now)
      return MAX_QUICK - quick.size
    },
    /** The calls that the endpoint may begin now, if the process has free places. */
    countFreeOf: (endpointId: string): number => {
      const lane = lanes.get(endpointId)
      if (slow.size >= MAX_SLOW && lane?.wasQuick !== true) return 0
      return lane ? lane.allowed - lane.active : 1
    },
    /** Endpoints whose calls take all of their places. */
    listBusy: (): readonly string[] => [
      ...new Set([...quick, ...slow].map(({ endpointId }) => endpointId).filter((id) => laneOf(id).active >= laneOf(id).allowed)),
    ],
    begin(endpointId: string, now: number): Call {
      laneOf(endpointId).active++
      const call = { endpointId, startedAt: now }
      quick.add(call)
      return call
    },
    end(call: Call, hasSucceeded: boolean, now: number): void {
      if (!quick.delete(call)) slow.delete(call)
      const lane = laneOf(call.endpointId)
      lane.active--
      lane.allowed = hasSucceeded ? Math.min(MAX_PER_ENDPOINT, lane.allowed + 1) : 1
      lane.wasQuick = now - call.startedAt < SLOW_AFTER_MS
      forgetIdle()
    },
  }
}
