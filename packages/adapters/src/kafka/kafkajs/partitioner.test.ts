import { Partitioners } from 'kafkajs'
import { expect, test } from 'vitest'
import { createPartitioner, selectLane } from './partitioner.ts'

const partitionsOf = (count: number) =>
  Array.from({ length: count }, (_, partitionId) => ({
    partitionId,
    partitionErrorCode: 0,
    leader: 0,
    replicas: [],
    isr: [],
    offlineReplicas: [],
  }))
const keys = Array.from({ length: 500 }, (_, n) => `key-${n}`)
const partitionOf = createPartitioner()
const choose = (count: number, hasLowPriority: boolean, key: string): number =>
  partitionOf('orders', partitionsOf(count), selectLane(count, hasLowPriority), { key, value: '' })

test.each([
  [1, [0], [0]],
  [2, [0], [1]],
  [3, [0, 1], [2]],
  [4, [0, 1, 2], [3]],
  [6, [0, 1, 2, 3], [4, 5]],
  [12, [0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11]],
])('of %i partitions, regular messages use %j and low-priority messages %j', (count, regular, low) => {
  const used = (hasLowPriority: boolean) =>
    [...new Set(keys.map((key) => choose(count, hasLowPriority, key)))].toSorted((a, b) => a - b)
  expect(used(false)).toEqual(regular)
  expect(used(true)).toEqual(low)
})

test('a key has one partition in each lane, and the hash of other Kafka clients', () => {
  const hash = Partitioners.DefaultPartitioner()
  for (const key of keys) {
    const message = { key, value: '' }
    expect(choose(12, false, key)).toBe(hash({ topic: 'x', partitionMetadata: partitionsOf(8), message }))
    expect(choose(12, true, key)).toBe(8 + hash({ topic: 'x', partitionMetadata: partitionsOf(4), message }))
  }
})

test.each([1, 2, 4])('with 12 partitions and %i replicas, one replica gets both lanes of a key', (replicas) => {
  for (const key of keys) expect(choose(12, true, key) % replicas).toBe(choose(12, false, key) % replicas)
})
