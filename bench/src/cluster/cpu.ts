import { setTimeout as sleep } from 'node:timers/promises'
import { serviceNames } from '@penstock/standalone/registry.ts'
import type { TestCluster } from '../../../test/support/cluster.ts'
import { openReferenceWorkload } from '../growth/reference-workload.ts'
import { listProcessTrees, readIfPresent } from './process-trees.ts'

/** CPU by process in ms, during `wallMs` of time. */
export type CpuWindow = { readonly wallMs: number; readonly byProcess: ReadonlyMap<string, number> }

export type CpuReport = {
  /** No order is placed meanwhile, and all balances have settled. */
  readonly idle: CpuWindow
  readonly load: CpuWindow
  /** Orders sold during `load`. */
  readonly sold: number
  /** CPU of one run of the reference workload. */
  readonly referenceMs: number
}

/** One process, or a sum over several. The milliseconds of an order are NaN or infinite if nothing was sold. */
export type CpuRow = {
  readonly name: string
  readonly orderMs: number
  /** The part of `orderMs` that the idle cluster would not have used in that time. */
  readonly aboveIdleMs: number
  readonly idleMsPerSecond: number
}

/** Linux reports times in ticks of 1/100 s, on every architecture that Node.js supports. */
const TICK_MS = 10

/**
 * Parses /proc/<pid>/stat. The sum includes children that have ended, so that a closed connection of PostgreSQL stays counted.
 * @returns user and system time in ms; 0 for an empty text
 */
export function parseCpuMs(stat: string): number {
  // The second field is the program's name in brackets, which may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = fields.slice(11, 15).map(Number)
  return (user + system + childrenUser + childrenSystem) * TICK_MS
}

function readCpuMs({ processes }: Pick<TestCluster, 'processes'>): ReadonlyMap<string, number> {
  const byName = Map.groupBy(listProcessTrees(processes()), ({ name }) => name)
  const readTreeMs = (pids: readonly number[]): number =>
    pids.reduce((sum, pid) => sum + parseCpuMs(readIfPresent(`/proc/${pid}/stat`)), 0)
  return new Map([...byName].map(([name, trees]) => [name, trees.reduce((sum, { pids }) => sum + readTreeMs(pids), 0)]))
}

/** Runs `work`, and measures the CPU of each process of the cluster meanwhile. */
export async function measureCpu<T>(
  cluster: Pick<TestCluster, 'processes'>,
  work: () => Promise<T>,
): Promise<CpuWindow & { readonly result: T }> {
  const [before, startedAt] = [readCpuMs(cluster), performance.now()]
  const result = await work()
  const [after, wallMs] = [readCpuMs(cluster), performance.now() - startedAt]
  const byProcess = new Map([...after].map(([name, ms]) => [name, Math.max(0, ms - (before.get(name) ?? 0))]))
  return { wallMs, byProcess, result }
}

export const measureIdleCpu = (cluster: Pick<TestCluster, 'processes'>, idleMs: number): Promise<CpuWindow> =>
  measureCpu(cluster, () => sleep(idleMs))

const [WARM_UP_RUNS, REFERENCE_RUNS] = [3, 10]

/** Measures the CPU of one run of the reference workload in ms, without its first runs, which compile the code. */
export function measureReferenceMs(): number {
  const reference = openReferenceWorkload()
  for (let run = 0; run < WARM_UP_RUNS; run++) reference.run()
  const before = reference.readUsage().cpuMs
  for (let run = 0; run < REFERENCE_RUNS; run++) reference.run()
  const { cpuMs } = reference.readUsage()
  reference.close()
  return (cpuMs - before) / REFERENCE_RUNS
}

/** @returns a row for each process, then the sum of the services, then the sum of all processes */
export function computeCpuRows({ idle, load, sold }: CpuReport): {
  readonly processes: readonly CpuRow[]
  readonly services: CpuRow
  readonly all: CpuRow
} {
  const computeRow = (name: string, names: readonly string[]): CpuRow => {
    const sum = ({ byProcess }: CpuWindow): number => names.reduce((total, one) => total + (byProcess.get(one) ?? 0), 0)
    const [loadMs, idleMs] = [sum(load), sum(idle)]
    return {
      name,
      orderMs: loadMs / sold,
      aboveIdleMs: (loadMs - (idleMs * load.wallMs) / idle.wallMs) / sold,
      idleMsPerSecond: (idleMs * 1000) / idle.wallMs,
    }
  }
  const names = [...load.byProcess.keys()]
  return {
    processes: names.map((name) => computeRow(name, [name])),
    services: computeRow('services', serviceNames),
    all: computeRow('all', names),
  }
}
