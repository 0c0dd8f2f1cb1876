import type { TestCluster } from '../../../test/support/cluster.ts'
import { isStatusSold } from '@penstock/cli/load/orders/load-order.ts'
import type { SecondSample } from '@penstock/cli/load/orders/generator.ts'
import { limitCoreShare } from './core-share.ts'
import { createLoadSettings, runOpenLoop } from './overload.ts'

/** Sales per second with one replica of each service and with two, while the replicas of one service are held to a share of a core. */
export type ReplicaScaling = {
  readonly service: string
  readonly coreShare: number
  readonly one: number
  readonly two: number
}

export type ReplicaLoadSize = {
  /** Duration of the load, and of its first part, which is not counted. */
  readonly seconds: number
  readonly warmUpSeconds: number
}

export const MIN_REPLICA_RATIO = 1.7
/** Orders in flight. They have to outnumber the orders that wait for blocks. */
const IN_FLIGHT = 24
const ATTEMPTS_PER_SECOND = 10

/**
 * Measures the sales per second of a cluster, of which each replica of a service is held to a share of a core. New orders start
 * whenever fewer than `IN_FLIGHT` are unfinished.
 */
export async function measureLimitedSales(
  cluster: TestCluster,
  service: string,
  coreShare: number,
  { seconds, warmUpSeconds }: ReplicaLoadSize,
): Promise<number> {
  const pids = cluster.processes().flatMap(({ name, pid }) => (name === service && pid !== undefined ? [pid] : []))
  const endLimit = limitCoreShare(pids, coreShare)
  try {
    const settings = { ...createLoadSettings(ATTEMPTS_PER_SECOND, seconds), maxInFlight: IN_FLIGHT, allowShed: true }
    const outcome = await runOpenLoop(cluster, settings)
    return countSalesPerSecond(outcome.seconds, warmUpSeconds, seconds)
  } finally {
    endLimit()
  }
}

/** @returns the sales per second between two seconds of a load */
export function countSalesPerSecond(samples: readonly SecondSample[], fromSecond: number, toSecond: number): number {
  const soldAt = (second: number): number => {
    const sample = samples.findLast(({ atMs }) => atMs <= second * 1000 + 500)
    return [...(sample?.statuses ?? [])].reduce((sum, [status, count]) => (isStatusSold(status) ? sum + count : sum), 0)
  }
  return (soldAt(toSecond) - soldAt(fromSecond)) / (toSecond - fromSecond)
}
