/** A call in progress. It counts among the quick calls until it has taken too long. */
export type Call = { readonly endpointId: string; readonly startedAt: number; readonly kind: Kind }

/** Whether the last call of an endpoint was quick or slow, or there was none. */
type Kind = 'quick' | 'slow' | 'new'
type Lane = { allowed: number; active: number; kind: Kind; begunAt: number }

/** Calls at once: quick calls of the process, slow calls of the process, calls of an endpoint. */
export const MAX_QUICK = 64
export const MAX_SLOW = 256
export const MAX_PER_ENDPOINT = 4
/** A call that takes longer gives its place among the quick calls back. */
export const SLOW_AFTER_MS = 1000
/** Calls at once to endpoints whose last call was slow, and to these together with the endpoints without an earlier call. */
export const [MAX_OF_SLOW, MAX_UNPROVEN] = [128, 192]
/** The same, among the quick calls. Each call begins as one of these. */
const [MAX_QUICK_OF_SLOW, MAX_QUICK_UNPROVEN] = [MAX_QUICK / 4, MAX_QUICK / 2]
/** The known endpoints without a call. An endpoint that is forgotten begins again with one call at once. */
const MAX_IDLE_LANES = 10_000

export type Pools = ReturnType<typeof createPools>

/**
 * Bounds the calls of a process, so that endpoints that hang do not take the places of the others. An endpoint begins with one
 * call at once, and gets one more with each success; a failure sets it back to one. Calls that may hang are fewer than the slow
 * calls of the process, so each gives its place among the quick calls back. Times are readings of the monotonic clock.
 */
export function createPools() {
  const lanes = new Map<string, Lane>()
  const quick = new Set<Call>()
  const slow = new Set<Call>()

  const laneOf = (endpointId: string): Lane => {
    const lane = lanes.get(endpointId) ?? createLane()
    lanes.set(endpointId, lane)
    return lane
  }
  const moveSlowCalls = (now: number): void => {
    for (const call of quick) {
      // Calls are in the order of their starts.
      if (now - call.startedAt < SLOW_AFTER_MS || slow.size >= MAX_SLOW) return
      quick.delete(call)
      slow.add(call)
      laneOf(call.endpointId).kind = 'slow'
    }
  }
  const forgetIdle = (): void => {
    if (lanes.size <= MAX_IDLE_LANES) return
    for (const [id, lane] of lanes) if (lane.active === 0) lanes.delete(id)
  }

  return {
    /** The calls that the process may begin now. */
    countFree(now: number): number {
      moveSlowCalls(now)
      return MAX_QUICK - quick.size
    },
    /** Endpoints whose calls take all of their places. */
    listBusy: (): readonly string[] => [
      ...new Set([...quick, ...slow].map(({ endpointId }) => endpointId).filter((id) => laneOf(id).active >= laneOf(id).allowed)),
    ],
    /**
     * Divides free calls among endpoints. Each endpoint without a call gets one before any gets more, and the endpoint comes
     * first whose last call began first.
     * @returns the calls of each endpoint that gets some
     */
    share: (endpointIds: Iterable<string>, free: number): ReadonlyMap<string, number> =>
      shareCalls(
        Array.from(endpointIds, (id) => ({ id, lane: lanes.get(id) ?? createLane() })),
        countLeft(free, quick, slow),
      ),
    begin(endpointId: string, now: number): Call {
      const lane = laneOf(endpointId)
      lane.active++
      lane.begunAt = now
      const call = { endpointId, startedAt: now, kind: lane.kind }
      quick.add(call)
      return call
    },
    end(call: Call, hasSucceeded: boolean, now: number): void {
      if (!quick.delete(call)) slow.delete(call)
      const lane = laneOf(call.endpointId)
      lane.active--
      lane.allowed = hasSucceeded ? Math.min(MAX_PER_ENDPOINT, lane.allowed + 1) : 1
      lane.kind = now - call.startedAt < SLOW_AFTER_MS ? 'quick' : 'slow'
      forgetIdle()
    },
  }
}

const createLane = (): Lane => ({ allowed: 1, active: 0, kind: 'new', begunAt: -1 })

/** The calls that may begin: of all endpoints, of those whose last call was slow, and of these and those without an earlier call. */
type Left = { all: number; slow: number; unproven: number }

function countLeft(free: number, quick: ReadonlySet<Call>, slow: ReadonlySet<Call>): Left {
  const count = (calls: ReadonlySet<Call>, ...kinds: readonly Kind[]): number =>
    [...calls].filter(({ kind }) => kinds.includes(kind)).length
  const [quickOfSlow, quickUnproven] = [count(quick, 'slow'), count(quick, 'slow', 'new')]
  return {
    all: free,
    slow: Math.min(MAX_QUICK_OF_SLOW - quickOfSlow, MAX_OF_SLOW - quickOfSlow - count(slow, 'slow')),
    unproven: Math.min(MAX_QUICK_UNPROVEN - quickUnproven, MAX_UNPROVEN - quickUnproven - count(slow, 'slow', 'new')),
  }
}

type Candidate = { readonly id: string; readonly lane: Readonly<Lane> }

function shareCalls(candidates: readonly Candidate[], left: Left): ReadonlyMap<string, number> {
  const inOrder = candidates.toSorted(({ lane: a }, { lane: b }) => a.active - b.active || a.begunAt - b.begunAt)
  const shares = new Map<string, number>()
  const countRoom = (kind: Kind): number => {
    if (kind === 'quick') return left.all
    return kind === 'new' ? Math.min(left.all, left.unproven) : Math.min(left.all, left.unproven, left.slow)
  }
  const give = ({ id, lane }: Candidate, most: number): void => {
    const given = shares.get(id) ?? 0
    const count = Math.min(most, lane.allowed - lane.active - given, countRoom(lane.kind))
    if (count <= 0) return
    shares.set(id, given + count)
    left.all -= count
    if (lane.kind !== 'quick') left.unproven -= count
    if (lane.kind === 'slow') left.slow -= count
  }
  for (const candidate of inOrder) if (candidate.lane.active === 0) give(candidate, 1)
  for (const candidate of inOrder) give(candidate, MAX_PER_ENDPOINT)
  return shares
}
