import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { waitForCondition } from '@penstock/ports/bus-recorder.fixture.ts'
import type { HandlerResult } from '@penstock/ports/bus.ts'
import { test } from 'vitest'
import { systemChance } from '../../system/chance.ts'
import type { SharedParkedKeys } from '../parked-tables.ts'
import type { ReceivedMessage } from './to-bus-message.ts'
import { createInFlightOffsets } from './in-flight-offsets.ts'
import { createMessageProcessor } from './message-processor.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
/** A clock whose sleeps end in the next event-loop turn. */
const clock = { now: () => 0, monotonicMs: () => 0, sleep: nextTurn }
const MESSAGE: ReceivedMessage = { id: 'a', key: 'k', headers: {}, body: '', partition: 0, offset: 7, at: 0 }

test('`onStored` of a parked message is called only after the table has stored the message', async () => {
  const events: string[] = []
  let failuresLeft = 2
  const park: SharedParkedKeys['park'] = async () => {
    await nextTurn()
    if (failuresLeft-- > 0) {
      events.push('failed')
      throw new Fault('the database is unavailable')
    }
    events.push('stored')
  }
  // The processor calls no other method of the table in this test.
  const table = { park } as unknown as SharedParkedKeys
  const offsets = createInFlightOffsets(0)
  const options = {
    clock,
    chance: systemChance,
    retryMinMs: 1,
    retryMaxMs: 1,
    concurrency: 1,
    isLowPriority: () => false,
  }
  const processor = createMessageProcessor({ group: 'readers', topic: 'orders' }, table, () => offsets, options)
  const handle = (): Promise<HandlerResult> => {
    events.push('handled')
    return Promise.resolve({ park: 'bad', onStored: () => void events.push('notified') })
  }
  processor.add(handle, () => undefined)
  processor.accept(MESSAGE, offsets)
  await waitForCondition(() => events.includes('notified'), 'the handler is notified')
  await processor.stop()
  assert.deepEqual(events, ['handled', 'failed', 'handled', 'failed', 'handled', 'stored', 'notified'])
  assert.equal(offsets.committableOffset(), 8)
})

test('a replay retries while the table fails, and then releases its key and its semaphore slot', async () => {
  let parkedMessage: ReceivedMessage | undefined = MESSAGE
  let faultCount = 0
  /** Calls per step; the first two calls of each step fail. */
  const callsByStep = new Map<string, number>()
  const failTwice = (step: string): void => {
    const times = callsByStep.get(step) ?? 0
    callsByStep.set(step, times + 1)
    if (times >= 2) return
    faultCount++
    throw new Fault('the database is unavailable')
  }
  const replaying: Partial<SharedParkedKeys> = {
    first: async () => {
      failTwice(parkedMessage ? 'first' : 'none left')
      return parkedMessage
    },
    remove: async () => {
      failTwice('remove')
      parkedMessage = undefined
    },
    release: async () => {
      failTwice('release')
      return true
    },
  }
  const offsets = createInFlightOffsets(0)
  const options = {
    clock,
    chance: systemChance,
    retryMinMs: 1,
    retryMaxMs: 1,
    concurrency: 1,
    isLowPriority: () => false,
  }
  const subscriptionId = { group: 'readers', topic: 'orders' }
  const processor = createMessageProcessor(subscriptionId, replaying as SharedParkedKeys, () => offsets, options)
  const handled: string[] = []
  processor.add(
    async ({ id, key }) => (handled.push(`${key}/${id}`), 'done'),
    () => undefined,
  )
  const key = { ...subscriptionId, key: 'k', partition: 0, replaying: true }
  assert.equal(processor.updateParkedKeys([key], processor.parkedKeysVersion()), true)
  // The semaphore has one slot, so the message of another key is handled only if the replay released it.
  await waitForCondition(() => processor.parkedKeysVersion() > 0, 'the replay has ended')
  processor.accept({ ...MESSAGE, id: 'b', key: 'other' }, offsets)
  await waitForCondition(() => offsets.committableOffset() === 8, 'the other key is handled')
  processor.accept({ ...MESSAGE, id: 'c', offset: 8 }, offsets)
  await waitForCondition(() => offsets.committableOffset() === 9, 'the released key is handled')
  await processor.stop()
  assert.equal(faultCount, 8)
  assert.deepEqual(handled, ['k/a', 'k/a', 'k/a', 'other/b', 'k/c'])
})
