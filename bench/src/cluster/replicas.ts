import { cpus } from 'node:os'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { isStatusSold } from '@penstock/cli/load/orders/load-order.ts'
import type { SecondSample } from '@penstock/cli/load/orders/generator.ts'
import { limitCoreShare } from './core-share.ts'
import { parseCpuMs } from './cpu.ts'
import { readIfPresent } from './process-trees.ts'
import { createLoadSettings, runOpenLoop } from './overload.ts'

/**
 * The sales of a cluster. `busyShare` is the share of all cores of the machine that any process used meanwhile. `usedShare` is the
 * share of their CPU that the limited replicas used.
 */
export type LimitedSales = { readonly perSecond: number; readonly busyShare: number; readonly usedShare: number }

/** The sales with one replica of a service and with two, while each of them is held to a share of a core. */
export type ReplicaScaling = {
  readonly service: string
  readonly coreShare: number
  readonly one: LimitedSales
  readonly two: LimitedSales
}

export type ReplicaLoadSize = {
  /** Duration of the load, and of its first part, which is not counted. */
  readonly seconds: number
  readonly warmUpSeconds: number
}

export const MIN_REPLICA_RATIO = 1.7
/** Orders in flight. They have to outnumber the orders that wait for blocks. */
export const IN_FLIGHT = 48
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
): Promise<LimitedSales> {
  const pids = cluster.processes().flatMap(({ name, pid }) => (name === service && pid !== undefined ? [pid] : []))
  const endLimit = limitCoreShare(pids, coreShare)
  try {
    const settings = { ...createLoadSettings(ATTEMPTS_PER_SECOND, seconds), maxInFlight: IN_FLIGHT, allowShed: true }
    const [before, usedMsBefore, startedAt] = [readCpuTimes(), readUsedMs(pids), performance.now()]
    let [busyShare, usedShare] = [0, 0]
    const outcome = await runOpenLoop(cluster, settings, () => {
      busyShare = computeBusyShare(before, readCpuTimes())
      usedShare = (readUsedMs(pids) - usedMsBefore) / ((performance.now() - startedAt) * coreShare * pids.length)
    })
    return { perSecond: countSalesPerSecond(outcome.seconds, warmUpSeconds, seconds), busyShare, usedShare }
  } finally {
    endLimit()
  }
}

const readUsedMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + parseCpuMs(readIfPresent(`/proc/${pid}/stat`)), 0)

type CpuTimes = { readonly idleMs: number; readonly allMs: number }

function readCpuTimes(): CpuTimes {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return { idleMs: sum(times.map(({ idle }) => idle)), allMs: sum(times.flatMap((one) => Object.values(one))) }
}

export const computeBusyShare = (before: CpuTimes, after: CpuTimes): number =>
  1 - (after.idleMs - before.idleMs) / (after.allMs - before.allMs)

/** @returns the sales per second between two seconds of a load */
export function countSalesPerSecond(samples: readonly SecondSample[], fromSecond: number, toSecond: number): number {
  const soldAt = (second: number): number => {
    const sample = samples.findLast(({ atMs }) => atMs <= second * 1000 + 500)
    return [...(sample?.statuses ?? [])].reduce((sum, [status, count]) => (isStatusSold(status) ? sum + count : sum), 0)
  }
  return (soldAt(toSecond) - soldAt(fromSecond)) / (toSecond - fromSecond)
}
