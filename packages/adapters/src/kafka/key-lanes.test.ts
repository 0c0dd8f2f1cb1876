import assert from 'node:assert/strict'
import { test } from 'vitest'
import { slots } from '../shared/slots.ts'
import { type Item, keyLanes } from './key-lanes.ts'
import { openWindow, type Window } from './window.ts'

const item = (id: string, offset: number, window: Window): Item => {
  window.take(offset)
  return { message: { id, key: 'k', headers: {}, body: '', partition: 0, offset, at: 0 }, window }
}

/** Lanes whose messages wait until they are let go. */
function waiting() {
  const gate = Promise.withResolvers<void>()
  const delivered: number[] = []
  const lanes = keyLanes(slots(4), async ({ message }) => {
    await gate.promise
    delivered.push(message.offset)
    return true
  })
  return { lanes, delivered, go: gate.resolve }
}

test('what is published again while it waits is delivered once, and does not fill the window', async () => {
  const window = openWindow(0)
  const { lanes, delivered, go } = waiting()
  const task = lanes.put(item('a', 0, window))
  void lanes.put(item('b', 1, window))
  for (let offset = 2; offset < 2000; offset += 2) {
    void lanes.put(item('a', offset, window))
    void lanes.put(item('b', offset + 1, window))
  }
  assert.equal(window.isFull(), false)
  assert.equal(window.progress(), 0)
  go()
  await task
  assert.deepEqual(delivered, [0, 1])
  assert.equal(window.progress(), 2000)
})

test('a copy in a window that came later is delivered too: what was in the one before is left to nobody else', async () => {
  const { lanes, delivered, go } = waiting()
  const task = lanes.put(item('a', 5, openWindow(0)))
  void lanes.put(item('a', 0, openWindow(0)))
  go()
  await task
  assert.deepEqual(delivered, [5, 0])
})
