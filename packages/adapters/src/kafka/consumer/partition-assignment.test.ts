import { expect, test } from 'vitest'
import { createPartitionAssignment } from './partition-assignment.ts'

test('an idle partition reports its read offset as unread while later messages wait', () => {
  const assignment = createPartitionAssignment()
  assignment.assign([0, 1, 2, 3])
  const waiting = new Map([0, 1, 2, 9].map((partition) => [partition, { offset: 4, high: 10 }] as const))
  // The result contains neither partitions of other members nor partitions without waiting messages.
  expect(assignment.unreadOffsets(waiting)).toEqual(
    new Map([
      [0, 4],
      [1, 4],
      [2, 4],
    ]),
  )
  assignment.offsetsOf(0)?.add(4)
  assignment.offsetsOf(1)?.add(9)
  assignment.offsetsOf(1)?.complete(9)
  assignment.offsetsOf(2)?.add(6)
  assignment.offsetsOf(2)?.complete(6)
  expect(assignment.unreadOffsets(waiting)).toEqual(new Map([[2, 7]]))
})

test('an assignment is settled while no message is in flight and every completed message is committed', () => {
  const assignment = createPartitionAssignment()
  assignment.assign([0, 1])
  expect(assignment.isSettled()).toBe(true)
  const offsets = assignment.offsetsOf(0)
  offsets?.add(7)
  expect(assignment.isSettled()).toBe(false)
  offsets?.complete(7)
  expect(assignment.isSettled()).toBe(false)
  assignment.recordCommitted(assignment.uncommitted())
  expect(assignment.isSettled()).toBe(true)
})
