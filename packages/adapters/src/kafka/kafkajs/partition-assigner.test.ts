import { expect, test } from 'vitest'
import { assignPartitions } from './partition-assigner.ts'

const sixPartitions = [5, 3, 0, 1, 2, 4]

test('members with equal topics share each topic, and a partition number belongs to one member in every topic', () => {
  const members = ['a', 'b'].map((memberId) => ({ memberId, topics: ['commands', 'events'] }))
  const partitionsByTopic = new Map([
    ['commands', sixPartitions],
    ['events', sixPartitions],
  ])
  expect(assignPartitions(members, partitionsByTopic)).toEqual([
    { memberId: 'a', assignment: { commands: [0, 2, 4], events: [0, 2, 4] } },
    { memberId: 'b', assignment: { commands: [1, 3, 5], events: [1, 3, 5] } },
  ])
})

test('a member gets no partition of a topic to which it has not subscribed', () => {
  const members = [
    { memberId: 'a', topics: ['commands'] },
    { memberId: 'b', topics: ['commands', 'events'] },
    { memberId: 'c', topics: [] },
  ]
  const partitionsByTopic = new Map([
    ['commands', [0, 1]],
    ['events', [0, 1]],
    ['unread', [0]],
  ])
  expect(assignPartitions(members, partitionsByTopic)).toEqual([
    { memberId: 'a', assignment: { commands: [0] } },
    { memberId: 'b', assignment: { commands: [1], events: [0, 1] } },
    { memberId: 'c', assignment: {} },
  ])
})

test('a member beyond the number of partitions gets none', () => {
  const members = ['a', 'b', 'c'].map((memberId) => ({ memberId, topics: ['events'] }))
  const [, , third] = assignPartitions(members, new Map([['events', [0, 1]]]))
  expect(third).toEqual({ memberId: 'c', assignment: {} })
})
