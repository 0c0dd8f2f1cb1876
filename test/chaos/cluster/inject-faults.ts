import { setTimeout as sleep } from 'node:timers/promises'
import { briefRetry, createKafkaClient } from '@penstock/adapters/kafka/client.ts'
import type { Admin, Kafka } from 'kafkajs'
import type { TestCluster } from '../../support/cluster.ts'
import { areGroupsStable, listGroups, triggerRebalance, resetOffsets } from './consumer-groups.ts'
import type { ClusterFault } from './fault-plan.ts'
import { waitUntilHealthy, runWithin } from './health.ts'

const EMPTY_WITHIN_MS = 15_000
const POLL_INTERVAL_MS = 20
const RETRY_FOR_MS = 150_000
const RETRY_INTERVAL_MS = 500
/** An injection that calls a frozen server would otherwise never end. */
const INJECTION_TIMEOUT_MS = 60_000

/**
 * Injects the planned faults into a cluster, and waits until all processes are healthy again.
 * @returns the faults whose injection succeeded
 * @throws Error with the names of the processes that do not recover
 */
export async function injectClusterFaults(
  cluster: TestCluster,
  faults: readonly ClusterFault[],
): Promise<readonly ClusterFault[]> {
  const kafka = createKafkaClient(
    { brokers: cluster.brokers.split(','), clientId: 'faults', sasl: cluster.brokersLogin },
    briefRetry,
  )
  const admin = kafka.admin()
  const injected: ClusterFault[] = []
  try {
    await Promise.all(
      faults.map(async (fault) => {
        await sleep(fault.atMs)
        if (await retryInjection(cluster, kafka, admin, fault)) injected.push(fault)
      }),
    )
    await waitUntilHealthy(
      () => cluster.processes(),
      () => areGroupsStable(admin),
    )
    return injected
  } finally {
    await admin.disconnect()
  }
}

/**
 * Retries an injection that fails. It may fail because a process is starting, because a broker is down, or because a group gets
 * a member before the action. @returns false if no retry succeeded
 */
async function retryInjection(cluster: TestCluster, kafka: Kafka, admin: Admin, fault: ClusterFault): Promise<boolean> {
  for (const end = Date.now() + RETRY_FOR_MS; ;) {
    if (await runWithin((signal) => injectFault({ cluster, kafka, admin, signal }, fault), INJECTION_TIMEOUT_MS, false))
      return true
    if (Date.now() > end) return false
    await sleep(RETRY_INTERVAL_MS)
  }
}

/** `signal` is aborted at the timeout of the injection. An injection must have no effect after that. */
type FaultContext = { readonly cluster: TestCluster; readonly kafka: Kafka; readonly admin: Admin; readonly signal: AbortSignal }

async function injectFault(context: FaultContext, fault: ClusterFault): Promise<boolean> {
  const { cluster, kafka, admin, signal } = context
  switch (fault.kind) {
    case 'kill':
      return sendSignal(findPids(cluster, fault.name)[fault.index], 'SIGKILL')
    case 'restart':
      return sendSignal(findPids(cluster, fault.name)[fault.index], 'SIGTERM')
    case 'freeze': {
      const pid = findPids(cluster, fault.name)[fault.index]
      if (!sendSignal(pid, 'SIGSTOP')) return false
      await sleep(fault.forMs)
      return sendSignal(pid, 'SIGCONT')
    }
    case 'rebalance':
      return triggerRebalance(kafka, admin, signal)
    case 'rewind':
      return runWhileEmpty(context, fault.name, (groupId) => resetOffsets(kafka, admin, groupId, signal))
    case 'forget':
      return runWhileEmpty(context, fault.name, async (groupId) => void (await admin.deleteGroups([groupId])))
  }
}

const findPids = (cluster: TestCluster, name: string): readonly (number | undefined)[] =>
  cluster.processes().flatMap((one) => (one.name === name ? [one.pid] : []))

/** @returns false if the process is restarting */
function sendSignal(pid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(pid, signal)
  } catch {
    return false
  }
}

/**
 * Stops all replicas of a service, and runs the action on each of its groups while they are down. Brokers allow the action only
 * for a group without members. @returns whether the action succeeded for at least one group
 */
async function runWhileEmpty(
  { cluster, admin, signal }: FaultContext,
  name: string,
  action: (groupId: string) => Promise<void>,
): Promise<boolean> {
  const groups = await listGroups(admin, name).catch(() => [])
  if (groups.length === 0 || signal.aborted) return false
  const stoppedPids = new Set(findPids(cluster, name))
  for (const pid of stoppedPids) sendSignal(pid, 'SIGTERM')
  const remaining = new Set(groups)
  for (
    const end = Date.now() + EMPTY_WITHIN_MS;
    remaining.size > 0 && Date.now() < end && !signal.aborted;
    await sleep(POLL_INTERVAL_MS)
  ) {
    // The broker keeps a stopped process as a member for a while. New processes are killed until the group is empty.
    for (const pid of findPids(cluster, name)) if (!stoppedPids.has(pid)) sendSignal(pid, 'SIGKILL')
    await Promise.all(
      [...remaining].map((group) =>
        action(group).then(
          () => remaining.delete(group),
          () => false,
        ),
      ),
    )
  }
  return remaining.size < groups.length
}
