import type { Clock } from '@penstock/ports/clock.ts'
import type { Attempt, Deliveries, DueEndpoint } from '@penstock/ports/deliveries.ts'
import type { Pools } from './pools.ts'

/** An endpoint counts as due for so long after a search. Endpoints that have waited longer then come before it. */
const KNOWN_MS = 100
/** The searches in which a sender looks for endpoints with free places. */
const MAX_SEARCHES = 8

/** The endpoint comes along, because it may be forgotten while its attempts begin. */
type BeginRequest = { readonly endpointId: string; readonly endpoint: DueEndpoint; readonly count: number }

type DuePorts = {
  readonly deliveries: Pick<Deliveries, 'findDue'>
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>
}

/** Chooses due endpoints with free places. It remembers them for a moment, so that a long queue needs few searches. */
export function createDueEndpoints(ports: DuePorts, pools: Pools) {
  const known = new Map<string, { readonly endpoint: DueEndpoint; readonly until: number }>()

  const shareOut = (endpoints: Iterable<DueEndpoint>, free: number): readonly BeginRequest[] => {
    let left = free
    const requests: BeginRequest[] = []
    for (const endpoint of endpoints) {
      if (left === 0) break
      const count = Math.min(left, pools.countFreeOf(endpoint.id))
      left -= count
      if (count > 0) requests.push({ endpointId: endpoint.id, endpoint, count })
    }
    return requests
  }

  async function search(shards: readonly number[], free: number): Promise<readonly BeginRequest[]> {
    const { deliveries, clock } = ports
    const except = [...new Set([...known.keys(), ...pools.listBusy()])]
    for (let searches = 1; ; searches++) {
      const until = clock.monotonicMs() + KNOWN_MS
      const due = await deliveries.findDue({ shards, now: clock.now(), except, max: free })
      const requests = shareOut(due, free)
      for (const endpoint of due) known.set(endpoint.id, { endpoint, until })
      if (requests.length > 0 || due.length < free || searches === MAX_SEARCHES) return requests
      except.push(...due.map(({ id }) => id))
    }
  }

  return {
    /** Divides the free calls of the process among due endpoints of the shards. */
    async choose(shards: readonly number[], free: number): Promise<readonly BeginRequest[]> {
      const now = ports.clock.monotonicMs()
      for (const [id, { until }] of known) if (until <= now) known.delete(id)
      const requests = shareOut(
        [...known.values()].map(({ endpoint }) => endpoint),
        free,
      )
      const left = requests.reduce((rest, { count }) => rest - count, free)
      return left === 0 ? requests : [...requests, ...(await search(shards, left))]
    },
    /** Forgets the endpoints that have nothing left to begin. */
    forgetIdle(requests: readonly BeginRequest[], attempts: readonly Attempt[]): void {
      const begun = Map.groupBy(attempts, ({ endpointId }) => endpointId)
      for (const { endpointId, count } of requests) if ((begun.get(endpointId)?.length ?? 0) < count) known.delete(endpointId)
    },
    forgetAll: (): void => known.clear(),
  }
}
