import { setTimeout as sleep } from 'node:timers/promises'
import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import type { Admin, Kafka } from 'kafkajs'
import type { Running } from '@penstock/cluster/launcher/launch.ts'
import type { TestCluster } from '../../harness/cluster.ts'
import { areDivided, type GroupName, groupsOf, rebalanced, rewound } from './groups.ts'
import type { Blow } from './plan.ts'

const EMPTY_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 20
const DEALT_WITHIN_MS = 150_000
const AGAIN_AFTER_MS = 500
const WELL_WITHIN_MS = 120_000

/** Lets the plan happen to a cluster, and waits until everybody is well again. @returns the blows that really came */
export async function strike(cluster: TestCluster, blows: readonly Blow[]): Promise<readonly Blow[]> {
  const kafka = kafkaClient({ brokers: cluster.brokers.split(','), clientId: 'faults', sasl: cluster.brokersLogin })
  const admin = kafka.admin()
  const dealt: Blow[] = []
  try {
    await Promise.all(
      blows.map(async (blow) => {
        await sleep(blow.atMs)
        if (await dealAtLast(cluster, kafka, admin, blow)) dealt.push(blow)
      }),
    )
    for (const end = Date.now() + WELL_WITHIN_MS; Date.now() < end && !(await isWell(cluster, admin));)
      await sleep(AGAIN_AFTER_MS)
    return dealt
  } finally {
    await admin.disconnect()
  }
}

/** A process may be starting just then, a broker be away, a group be empty too shortly: then it is tried again. */
async function dealAtLast(cluster: TestCluster, kafka: Kafka, admin: Admin, blow: Blow): Promise<boolean> {
  for (const end = Date.now() + DEALT_WITHIN_MS; ;) {
    if (await deal(cluster, kafka, admin, blow)) return true
    if (Date.now() > end) return false
    await sleep(AGAIN_AFTER_MS)
  }
}

/** Whether every process takes work, and every partition is somebody's. */
async function isWell(cluster: TestCluster, admin: Admin): Promise<boolean> {
  const isReady = async ({ pid, healthUrl }: Running): Promise<boolean> =>
    pid !== undefined && (healthUrl === undefined || (await fetch(`${healthUrl}/readyz`)).ok)
  const answers = [...cluster.processes().map(isReady), areDivided(admin)]
  return (await Promise.all(answers).catch(() => [false])).every(Boolean)
}

async function deal(cluster: TestCluster, kafka: Kafka, admin: Admin, blow: Blow): Promise<boolean> {
  switch (blow.what) {
    case 'kill':
      return signalled(pidsOf(cluster, blow.name)[blow.index], 'SIGKILL')
    case 'restart':
      return signalled(pidsOf(cluster, blow.name)[blow.index], 'SIGTERM')
    case 'freeze': {
      const pid = pidsOf(cluster, blow.name)[blow.index]
      if (!signalled(pid, 'SIGSTOP')) return false
      await sleep(blow.forMs)
      return signalled(pid, 'SIGCONT')
    }
    case 'rebalance':
      return rebalanced(kafka, admin)
    case 'rewind':
      return whileEmpty(cluster, admin, blow.name, (group) => rewound(kafka, admin, group))
    case 'forget':
      return whileEmpty(cluster, admin, blow.name, async ({ groupId }) => void (await admin.deleteGroups([groupId])))
  }
}

const pidsOf = (cluster: TestCluster, name: string): readonly (number | undefined)[] =>
  cluster.processes().flatMap((one) => (one.name === name ? [one.pid] : []))

/** @returns false for one that is being started again just then */
function signalled(pid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Stops all replicas, and acts on their groups before they are back: brokers allow it only then. */
async function whileEmpty(
  cluster: TestCluster,
  admin: Admin,
  name: string,
  act: (group: GroupName) => Promise<void>,
): Promise<boolean> {
  const groups = await groupsOf(admin, name).catch(() => [])
  if (groups.length === 0) return false
  const stopped = new Set(pidsOf(cluster, name))
  for (const pid of stopped) signalled(pid, 'SIGTERM')
  const left = new Set(groups)
  for (const end = Date.now() + EMPTY_WITHIN_MS; left.size > 0 && Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    // Who was killed a moment ago is a member still, so the next ones must not join before it is given up.
    for (const pid of pidsOf(cluster, name)) if (!stopped.has(pid)) signalled(pid, 'SIGKILL')
    await Promise.all(
      [...left].map((group) =>
        act(group).then(
          () => left.delete(group),
          () => false,
        ),
      ),
    )
  }
  return left.size < groups.length
}
