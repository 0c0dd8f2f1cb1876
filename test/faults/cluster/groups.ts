import { setTimeout as sleep } from 'node:timers/promises'
import { endlessRetry } from '@penstock/adapters/kafka/client.ts'
import { type Admin, type Consumer, type Kafka, PartitionAssigners } from 'kafkajs'

export type GroupName = { readonly groupId: string; readonly topic: string }

const PREFIX = 'penstock.'
const SESSION_MS = 4000
const JOINED_WITHIN_MS = 15_000
const STRANGER_STAYS_MS = 500

/** The groups of a service, or all of them: named `<prefix><consumer>@<topic>`. */
export async function groupsOf(admin: Admin, name?: string): Promise<readonly GroupName[]> {
  const { groups } = await admin.listGroups()
  return groups.flatMap(({ groupId }) => {
    const [consumer = '', topic = ''] = groupId.slice(PREFIX.length).split('@')
    const isWanted = groupId.startsWith(PREFIX) && (name === undefined || consumer === name || consumer.startsWith(`${name}.`))
    return isWanted ? [{ groupId, topic: PREFIX + topic }] : []
  })
}

/** Whether nobody waits for partitions. Those who died alone leave empty groups. */
export async function areDivided(admin: Admin): Promise<boolean> {
  const { groups } = await admin.describeGroups((await groupsOf(admin)).map(({ groupId }) => groupId))
  return groups.every(({ state }) => state === 'Stable' || state === 'Empty')
}

/** Somebody takes part of the partitions of every group, and commits nothing. */
export async function rebalanced(kafka: Kafka, admin: Admin): Promise<boolean> {
  const groups = await groupsOf(admin).catch(() => [])
  const joined = await Promise.all(
    groups.map((group) => joinedFor(kafka, group, () => sleep(STRANGER_STAYS_MS)).catch(() => false)),
  )
  return joined.some(Boolean)
}

/**
 * Sets the places of an empty group back to the start. The client's own way joins it with a session of half a minute: a
 * broker that dies just then waits so long for a member that is gone.
 * @throws Error where it has members
 */
export async function rewound(kafka: Kafka, admin: Admin, group: GroupName): Promise<void> {
  const [found] = (await admin.describeGroups([group.groupId])).groups
  if (found?.state !== 'Empty' && found?.state !== 'Dead') throw new Error(`${group.groupId} has members`)
  const { topic } = group
  const offsets = (await admin.fetchTopicOffsets(topic)).map(({ partition, low }) => ({ topic, partition, offset: low }))
  if (!(await joinedFor(kafka, group, (stranger) => stranger.commitOffsets(offsets)))) throw new Error('nobody could join')
}

/** A member that handles nothing, for as long as the work lasts. */
async function joinedFor(kafka: Kafka, { groupId, topic }: GroupName, work: (stranger: Consumer) => Promise<void>) {
  const stranger = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: 2 * SESSION_MS,
    heartbeatInterval: SESSION_MS / 8,
    partitionAssigners: [PartitionAssigners.roundRobin],
    // The client would begin anew what was given up while it joined: a member for ever, whose partitions nobody reads.
    retry: { ...endlessRetry, restartOnFailure: async () => false },
  })
  const joined = new Promise<boolean>((resolve) => stranger.on('consumer.group_join', () => resolve(true)))
  try {
    await stranger.connect()
    await stranger.subscribe({ topic })
    await stranger.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} })
    const isIn = await Promise.race([joined, sleep(JOINED_WITHIN_MS, false)])
    if (isIn) await work(stranger)
    return isIn
  } finally {
    await stranger.disconnect()
  }
}
