import { type Message, type PartitionMetadata, Partitioners } from 'kafkajs'

/** The partitions of a topic that messages of one priority use: `count` partitions from the partition `first` on. */
export type PartitionLane = { readonly first: number; readonly count: number }

/**
 * Low-priority messages use the last third of the partitions, but at least one, and other messages the rest. A topic with one
 * partition has no lanes. All publishers have to agree, because a key keeps its order only within one partition.
 */
export function selectLane(partitions: number, hasLowPriority: boolean): PartitionLane {
  if (partitions < 2) return { first: 0, count: partitions }
  const lowPriorityCount = Math.max(1, Math.floor(partitions / 3))
  const regularCount = partitions - lowPriorityCount
  return hasLowPriority ? { first: regularCount, count: lowPriorityCount } : { first: 0, count: regularCount }
}

/** @returns a function that maps a message's key to a partition of the lane */
export function createPartitioner() {
  const hashKey = Partitioners.DefaultPartitioner()
  return (topic: string, partitions: readonly PartitionMetadata[], lane: PartitionLane, message: Message): number =>
    // The hash is modulo the number of given partitions. Kafka numbers partitions from 0, so the lane's first number is added.
    lane.first + hashKey({ topic, partitionMetadata: partitions.slice(0, lane.count), message })
}
