import kafkajs, { type Assignment, type PartitionAssigner } from 'kafkajs'

// Node cannot import the values of this CommonJS package by name.
const { AssignerProtocol } = kafkajs
const VERSION = 0

/**
 * Assigns each partition of a topic to a member that has subscribed to the topic. The assigners of kafkajs ignore the
 * subscriptions of members, which differ while a member starts and while releases with different topics run side by side.
 *
 * A partition number goes to the same member in every topic, as far as the members' subscriptions allow. One member then handles
 * all messages of a key, and finds its streams in its cache.
 */
export const subscriptionAssigner: PartitionAssigner = ({ cluster }) => ({
  name: 'PenstockSubscriptionAssigner',
  version: VERSION,
  async assign({ members }) {
    const subscriptions = members
      .map(({ memberId, memberMetadata }) => ({
        memberId,
        topics: AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? [],
      }))
      .toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1))
    const topics = [...new Set(subscriptions.flatMap((member) => member.topics))]
    // The leader of the group knows only the partitions of its own topics.
    await cluster.addMultipleTargetTopics(topics)
    const partitionsByTopic = new Map(
      topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId)]),
    )
    return assignPartitions(subscriptions, partitionsByTopic).map(({ memberId, assignment }) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({
        version: VERSION,
        assignment,
        userData: Buffer.alloc(0),
      }),
    }))
  },
  protocol: ({ topics }) => ({
    name: 'PenstockSubscriptionAssigner',
    metadata: AssignerProtocol.MemberMetadata.encode({ version: VERSION, topics, userData: Buffer.alloc(0) }),
  }),
})

type MemberSubscription = { readonly memberId: string; readonly topics: readonly string[] }

/** @returns the partitions of each member, also of a member that gets none */
export function assignPartitions(
  members: readonly MemberSubscription[],
  partitionsByTopic: ReadonlyMap<string, readonly number[]>,
): readonly { readonly memberId: string; readonly assignment: Assignment }[] {
  const assignments = members.map(({ memberId, topics }) => ({ memberId, topics, assignment: {} as Assignment }))
  for (const [topic, partitions] of partitionsByTopic) {
    const subscribed = assignments.filter((member) => member.topics.includes(topic))
    for (const partition of partitions.toSorted((a, b) => a - b)) {
      const assignment = subscribed[partition % subscribed.length]?.assignment
      if (assignment) (assignment[topic] ??= []).push(partition)
    }
  }
  return assignments.map(({ memberId, assignment }) => ({ memberId, assignment }))
}
