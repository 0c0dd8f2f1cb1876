import type { Clock } from '@penstock/ports/clock.ts'
import type { Attempt, Deliveries, DueEndpoint } from '@penstock/ports/deliveries.ts'
import type { Pools } from './pools.ts'

/** An endpoint counts as due for so long after a search, so there are searches at least as often. */
const KNOWN_MS = 100
/** The endpoints that a search finds at most. */
const MAX_FOUND = 64
/** The searches in which a sender looks for endpoints with free places. */
const MAX_SEARCHES = 8

/** The endpoint comes along, because it may be forgotten while its attempts begin. */
type BeginRequest = { readonly endpointId: string; readonly endpoint: DueEndpoint; readonly count: number }

type DuePorts = {
  readonly deliveries: Pick<Deliveries, 'findDue'>
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
}

/**
 * Chooses due endpoints with free places. It remembers them for a moment, so that a long queue needs few searches. A search goes
 * on after the last endpoint of the one before, so that each endpoint has its turn however long others have waited.
 */
export function createDueEndpoints(ports: DuePorts, pools: Pools) {
  const known = new Map<string, { readonly endpoint: DueEndpoint; readonly until: number }>()
  let searchedTo = ''

  const share = (free: number): readonly BeginRequest[] =>
    [...pools.share(known.keys(), free)].flatMap(([endpointId, count]) => {
      const endpoint = known.get(endpointId)?.endpoint
      return endpoint ? [{ endpointId, endpoint, count }] : []
    })

  /** @returns whether there are no other due endpoints with free places */
  async function search(shards: readonly number[]): Promise<boolean> {
    const { deliveries, clock } = ports
    const until = clock.monotonicMs() + KNOWN_MS
    const after = searchedTo
    const except = [...new Set([...known.keys(), ...pools.listBusy()])]
    const found = await deliveries.findDue({ shards, now: clock.now(), after, except, max: MAX_FOUND })
    for (const endpoint of found) known.set(endpoint.id, { endpoint, until })
    searchedTo = found.length < MAX_FOUND ? '' : (found.at(-1)?.id ?? '')
    return after === '' && searchedTo === ''
  }

  return {
    /** Divides the free calls of the process among due endpoints of the shards. */
    async choose(shards: readonly number[], free: number): Promise<readonly BeginRequest[]> {
      const now = ports.clock.monotonicMs()
      for (const [id, { until }] of known) if (until <= now) known.delete(id)
      let requests = share(free)
      if (requests.reduce((sum, { count }) => sum + count, 0) === free) return requests
      for (let searches = 0, hasAll = false; !hasAll && searches < MAX_SEARCHES; searches++) {
        hasAll = await search(shards)
        requests = share(free)
        if (requests.length > 0) break
      }
      return requests
    },
    /** Forgets the endpoints that have nothing left to begin. */
    forgetIdle(requests: readonly BeginRequest[], attempts: readonly Attempt[]): void {
      const begun = Map.groupBy(attempts, ({ endpointId }) => endpointId)
      for (const { endpointId, count } of requests) if ((begun.get(endpointId)?.length ?? 0) < count) known.delete(endpointId)
    },
    forgetAll: (): void => known.clear(),
  }
}
