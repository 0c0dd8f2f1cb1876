import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createSemaphore } from '@penstock/kernel/semaphore.ts'
import { type QueuedMessage, createPerKeyQueues } from './per-key-queues.ts'
import { createInFlightOffsets, type InFlightOffsets } from './in-flight-offsets.ts'

const queuedMessage = (id: string, offset: number, offsets: InFlightOffsets): QueuedMessage => {
  offsets.add(offset)
  return { message: { id, key: 'k', headers: {}, body: '', partition: 0, offset, at: 0 }, offsets }
}

/** Queues whose deliveries wait until `release` is called. */
function createPausedQueues() {
  const released = Promise.withResolvers<void>()
  const delivered: number[] = []
  const semaphore = createSemaphore(4)
  const queues = createPerKeyQueues(
    () => semaphore,
    async ({ message }) => {
      await released.promise
      delivered.push(message.offset)
      return true
    },
  )
  return { queues, delivered, release: released.resolve }
}

test('a message that is republished while it waits is delivered once and does not fill its partition', async () => {
  const offsets = createInFlightOffsets(0)
  const { queues, delivered, release } = createPausedQueues()
  const task = queues.enqueue(queuedMessage('a', 0, offsets))
  void queues.enqueue(queuedMessage('b', 1, offsets))
  for (let offset = 2; offset < 2000; offset += 2) {
    void queues.enqueue(queuedMessage('a', offset, offsets))
    void queues.enqueue(queuedMessage('b', offset + 1, offsets))
  }
  assert.equal(offsets.isFull(), false)
  assert.equal(offsets.committableOffset(), 0)
  release()
  await task
  assert.deepEqual(delivered, [0, 1])
  assert.equal(offsets.committableOffset(), 2000)
})

test('a copy from a later assignment is delivered too, because the earlier assignment may be revoked', async () => {
  const { queues, delivered, release } = createPausedQueues()
  const task = queues.enqueue(queuedMessage('a', 5, createInFlightOffsets(0)))
  void queues.enqueue(queuedMessage('a', 0, createInFlightOffsets(0)))
  release()
  await task
  assert.deepEqual(delivered, [5, 0])
})
