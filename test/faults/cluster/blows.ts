import { setTimeout as sleep } from 'node:timers/promises'
import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import { type Admin, type Kafka, PartitionAssigners } from 'kafkajs'
import type { TestCluster } from '../../harness/cluster.ts'
import type { Blow } from './plan.ts'

/** How many blows of a kind were dealt as planned: a group is empty for moments only, and may be missed. */
export type Dealt = Record<string, number>

const PREFIX = 'penstock.'
const EMPTY_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 20
const JOINED_WITHIN_MS = 15_000
const STRANGER_STAYS_MS = 500

/** Lets the plan happen to a cluster. */
export async function strike(cluster: TestCluster, blows: readonly Blow[]): Promise<Dealt> {
  const kafka = kafkaClient({ brokers: cluster.brokers.split(','), clientId: 'faults' })
  const admin = kafka.admin()
  const dealt: Dealt = {}
  try {
    await Promise.all(
      blows.map(async (blow) => {
        await sleep(blow.atMs)
        if (await deal(cluster, kafka, admin, blow)) dealt[blow.what] = (dealt[blow.what] ?? 0) + 1
      }),
    )
    return dealt
  } finally {
    await admin.disconnect()
  }
}

async function deal(cluster: TestCluster, kafka: Kafka, admin: Admin, blow: Blow): Promise<boolean> {
  switch (blow.what) {
    case 'kill':
      return signalled(pidsOf(cluster, blow.name)[blow.index], 'SIGKILL')
    case 'restart':
      // PostgreSQL takes SIGTERM for an order to wait until everybody has gone.
      return signalled(pidsOf(cluster, blow.name)[blow.index], blow.name === 'postgres' ? 'SIGINT' : 'SIGTERM')
    case 'freeze': {
      const pid = pidsOf(cluster, blow.name)[blow.index]
      if (!signalled(pid, 'SIGSTOP')) return false
      await sleep(blow.forMs)
      return signalled(pid, 'SIGCONT')
    }
    case 'rebalance':
      return rebalanced(kafka, admin)
    case 'rewind':
      return whileEmpty(cluster, admin, blow.name, async ({ groupId, topic }) =>
        admin.resetOffsets({ groupId, topic, earliest: true }),
      )
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

type GroupName = { readonly groupId: string; readonly topic: string }

/** The groups of a service, or all of them: named `<prefix><consumer>@<topic>`. */
async function groupsOf(admin: Admin, name?: string): Promise<readonly GroupName[]> {
  const { groups } = await admin.listGroups()
  return groups.flatMap(({ groupId }) => {
    const [consumer = '', topic = ''] = groupId.slice(PREFIX.length).split('@')
    const isWanted = groupId.startsWith(PREFIX) && (name === undefined || consumer === name || consumer.startsWith(`${name}.`))
    return isWanted ? [{ groupId, topic: PREFIX + topic }] : []
  })
}

/** Stops all replicas, and acts on their groups before they are back: brokers allow it only then. */
async function whileEmpty(
  cluster: TestCluster,
  admin: Admin,
  name: string,
  act: (group: GroupName) => Promise<void>,
): Promise<boolean> {
  const groups = await groupsOf(admin, name).catch(() => [])
  for (const pid of pidsOf(cluster, name)) signalled(pid, 'SIGTERM')
  const end = Date.now() + EMPTY_WITHIN_MS
  const acted = await Promise.all(
    groups.map(async (group) => {
      while (Date.now() < end) {
        const done = await act(group).then(
          () => true,
          () => false,
        )
        if (done) return true
        await sleep(LOOK_EVERY_MS)
      }
      return false
    }),
  )
  return acted.some(Boolean)
}

async function rebalanced(kafka: Kafka, admin: Admin): Promise<boolean> {
  const groups = await groupsOf(admin).catch(() => [])
  const joined = await Promise.all(groups.map((group) => joinedFor(kafka, group).catch(() => false)))
  return joined.some(Boolean)
}

/** A member that takes its part of the partitions and commits nothing. */
async function joinedFor(kafka: Kafka, { groupId, topic }: GroupName): Promise<boolean> {
  const stranger = kafka.consumer({
    groupId,
    sessionTimeout: 4000,
    heartbeatInterval: 500,
    partitionAssigners: [PartitionAssigners.roundRobin],
  })
  const joined = new Promise<boolean>((resolve) => stranger.on('consumer.group_join', () => resolve(true)))
  try {
    await stranger.connect()
    await stranger.subscribe({ topic })
    await stranger.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} })
    const isIn = await Promise.race([joined, sleep(JOINED_WITHIN_MS, false)])
    await sleep(STRANGER_STAYS_MS)
    return isIn
  } finally {
    await stranger.disconnect()
  }
}
