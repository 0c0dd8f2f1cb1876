import { setTimeout as sleep } from 'node:timers/promises'
import { endlessRetry } from '@penstock/adapters/kafka/client.ts'
import { subscriptionAssigner } from '@penstock/adapters/kafka/kafkajs/partition-assigner.ts'
import type { Admin, Consumer, Kafka } from 'kafkajs'

const GROUP_PREFIX = 'penstock.'
const SESSION_MS = 4000
const JOIN_TIMEOUT_MS = 15_000
const MEMBER_STAYS_MS = 500

/** Lists the consumer groups of a service, or of all services. Group names are `<prefix><service>` or `<prefix><service>.<more>`. */
export async function listGroups(admin: Admin, name?: string): Promise<readonly string[]> {
  const { groups } = await admin.listGroups()
  return groups.flatMap(({ groupId }) => {
    const consumer = groupId.slice(GROUP_PREFIX.length)
    const isOfService =
      groupId.startsWith(GROUP_PREFIX) && (name === undefined || consumer === name || consumer.startsWith(`${name}.`))
    return isOfService ? [groupId] : []
  })
}

/** Lists the topics of which a group has committed offsets. */
const listTopics = async (admin: Admin, groupId: string): Promise<readonly string[]> =>
  (await admin.fetchOffsets({ groupId })).map(({ topic }) => topic)

/** Returns whether no group is rebalancing. Empty groups count as stable, because the only member of a group may be down. */
export async function areGroupsStable(admin: Admin): Promise<boolean> {
  const { groups } = await admin.describeGroups([...(await listGroups(admin))])
  return groups.every(({ state }) => state === 'Stable' || state === 'Empty')
}

/** Triggers a rebalance of every group by a member that joins for a moment and commits nothing. */
export async function triggerRebalance(kafka: Kafka, admin: Admin, signal: AbortSignal): Promise<boolean> {
  const groups = await listGroups(admin).catch(() => [])
  const joined = await Promise.all(
    groups.map(async (groupId) => {
      try {
        return await joinGroup(kafka, groupId, await listTopics(admin, groupId), () => sleep(MEMBER_STAYS_MS), signal)
      } catch {
        return false
      }
    }),
  )
  return joined.some(Boolean)
}

/**
 * Resets the offsets of an empty group to the start. KafkaJS's own method joins with a session timeout of 30 s. If a broker is
 * killed meanwhile, it would wait 30 s for the lost member. This function joins with a shorter timeout.
 * @throws Error if the group has members
 */
export async function resetOffsets(kafka: Kafka, admin: Admin, groupId: string, signal: AbortSignal): Promise<void> {
  const [description] = (await admin.describeGroups([groupId])).groups
  if (description?.state !== 'Empty' && description?.state !== 'Dead') throw new Error(`${groupId} has members`)
  const topics = await listTopics(admin, groupId)
  const starts = await Promise.all(
    topics.map(async (topic) =>
      (await admin.fetchTopicOffsets(topic)).map(({ partition, low }) => ({ topic, partition, offset: low })),
    ),
  )
  const commit = (member: Consumer): Promise<void> => member.commitOffsets(starts.flat())
  if (!(await joinGroup(kafka, groupId, topics, commit, signal))) throw new Error('no member could join')
}

/** Joins a group with a member that handles no messages, runs the action, and leaves. @returns false if the join timed out */
async function joinGroup(
  kafka: Kafka,
  groupId: string,
  topics: readonly string[],
  action: (member: Consumer) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted()
  const member = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_MS,
    rebalanceTimeout: 2 * SESSION_MS,
    heartbeatInterval: SESSION_MS / 8,
    partitionAssigners: [subscriptionAssigner],
    // KafkaJS would retry an abandoned join. The member would then keep partitions forever without reading them.
    retry: { ...endlessRetry, restartOnFailure: async () => false },
  })
  const joined = new Promise<boolean>((resolve) => member.on('consumer.group_join', () => resolve(true)))
  try {
    await member.connect()
    await member.subscribe({ topics: [...topics] })
    await member.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async () => {} })
    const hasJoined = await Promise.race([joined, sleep(JOIN_TIMEOUT_MS, false, { signal })])
    if (hasJoined && !signal.aborted) await action(member)
    return hasJoined
  } finally {
    await member.disconnect()
  }
}
