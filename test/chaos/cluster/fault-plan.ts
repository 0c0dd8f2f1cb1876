import { type ServiceName, serviceNames } from '@penstock/standalone/registry.ts'
import { type CountsByName, countNames, findUnmetRequirements } from '../counts.ts'
import type { SeededRandom } from '../random.ts'

/** Processes without replicas, and servers. */
const SINGLE_PROCESSES = ['simnet', 'audit', 'neighbours'] as const
const SERVERS = ['kafka', 'postgres'] as const

/** A planned fault. Times are in milliseconds since the start of the round. `index` selects one of the processes of a name. */
export type ClusterFault = { readonly atMs: number } & (
  | { readonly kind: 'kill' | 'restart'; readonly name: string; readonly index: number }
  /** The process is paused for `forMs` and continued, as when its virtual machine is migrated. */
  | { readonly kind: 'freeze'; readonly name: string; readonly index: number; readonly forMs: number }
  /** A member joins every consumer group, takes partitions, handles nothing, and leaves. */
  | { readonly kind: 'rebalance' }
  /** A service restarts. While it is down, `rewind` resets the offsets of its groups to the start, and `forget` deletes them. */
  | { readonly kind: 'rewind' | 'forget'; readonly name: string }
)

export type ClusterFaultOptions = {
  readonly durationMs: number
  readonly freezeMs: number
  readonly replicas: number
  /** The service of the process to freeze; any service if undefined. */
  readonly frozenService?: ServiceName
}

/** Plans the faults of a round, each kind at least once. Both servers are killed, and one of them is also restarted. */
export function planClusterFaults(
  random: SeededRandom,
  { durationMs, freezeMs, replicas, frozenService }: ClusterFaultOptions,
): readonly ClusterFault[] {
  const atMs = (): number => random.between(1000, durationMs)
  const pickReplica = () => ({ name: random.pick(serviceNames), index: random.between(0, replicas - 1) })
  const pickProcess = () => (random.chance(0.8) ? pickReplica() : { name: random.pick(SINGLE_PROCESSES), index: 0 })
  const frozenProcess = { ...pickReplica(), ...(frozenService && { name: frozenService }) }
  const otherServices = serviceNames.filter((name) => name !== frozenProcess.name)
  const rewoundService = random.pick(otherServices)
  const faults: readonly ClusterFault[] = [
    ...Array.from({ length: random.between(3, 5) }, () => ({ kind: 'kill', atMs: atMs(), ...pickProcess() }) as const),
    ...Array.from({ length: 2 }, () => ({ kind: 'restart', atMs: atMs(), ...pickProcess() }) as const),
    ...SERVERS.map((name) => ({ kind: 'kill', atMs: atMs(), name, index: 0 }) as const),
    { kind: 'restart', atMs: atMs(), name: random.pick(SERVERS), index: 0 },
    { kind: 'freeze', atMs: random.between(1000, durationMs / 2), ...frozenProcess, forMs: freezeMs },
    { kind: 'rebalance', atMs: atMs() },
    { kind: 'rewind', atMs: atMs(), name: rewoundService },
    { kind: 'forget', atMs: atMs(), name: random.pick(otherServices.filter((name) => name !== rewoundService)) },
  ]
  // A kill or restart of the frozen process is moved to the next replica of the same service.
  const spareFrozenProcess = (fault: ClusterFault): ClusterFault =>
    (fault.kind === 'kill' || fault.kind === 'restart') &&
    fault.name === frozenProcess.name &&
    fault.index === frozenProcess.index
      ? { ...fault, index: (fault.index + 1) % replicas }
      : fault
  return faults.map(spareFrozenProcess).toSorted((one, other) => one.atMs - other.atMs)
}

const isServer = ({ name }: { readonly name: string }): boolean => SERVERS.some((server) => server === name)

/** The faults that a run must include. Each key completes the sentence "There never was …". */
const requiredFaults: Readonly<Record<string, (fault: ClusterFault) => boolean>> = {
  'a process that is killed': (fault) => fault.kind === 'kill' && !isServer(fault),
  'a process that is restarted': (fault) => fault.kind === 'restart' && !isServer(fault),
  'a broker that is killed': (fault) => fault.kind === 'kill' && fault.name === 'kafka',
  'a database that is killed': (fault) => fault.kind === 'kill' && fault.name === 'postgres',
  'a server that is restarted': (fault) => fault.kind === 'restart' && isServer(fault),
  // A frozen process of settlement must not delay the guard beyond the last height of a hold.
  'a process of settlement that is frozen': (fault) => fault.kind === 'freeze' && fault.name === 'settlement',
  'a rebalance': ({ kind }) => kind === 'rebalance',
  'a group whose offsets are reset': ({ kind }) => kind === 'rewind',
  'a group that is deleted': ({ kind }) => kind === 'forget',
}

const SOLD_STATUSES = ['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'] as const

/**
 * @param rounds the injected faults of each round, and the number of orders by status at its end
 * @returns a sentence for each kind of fault that never occurred, and one if no channel was sold
 */
export function findMissingClusterCoverage(
  rounds: readonly { readonly injected: readonly ClusterFault[]; readonly statuses: CountsByName }[],
): readonly string[] {
  const injected = rounds.flatMap((round) => round.injected)
  const isSold = rounds.some(({ statuses }) => SOLD_STATUSES.some((status) => (statuses[status] ?? 0) > 0))
  return [...findUnmetRequirements(requiredFaults, injected), ...(isSold ? [] : ['No channel was sold.'])]
}

export const countFaultKinds = (faults: readonly ClusterFault[]): CountsByName => countNames(faults.map(({ kind }) => kind))

export const formatClusterFault = (fault: ClusterFault): string => {
  const { atMs, kind, ...rest } = fault
  return `${(atMs / 1000).toFixed(1)} s ${kind}${Object.values(rest)
    .map((value) => ` ${value}`)
    .join('')}`
}
