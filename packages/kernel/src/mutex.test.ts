import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createKeyedMutex, createMutex } from './mutex.ts'

test('work on a key waits for earlier work on the same key, even if that work failed, and not for other keys', async () => {
  const mutex = createKeyedMutex()
  const events: string[] = []
  const first = Promise.withResolvers<void>()
  const work = (name: string, until?: Promise<void>) => async () => {
    events.push(`${name} begins`)
    await until
    events.push(`${name} ends`)
  }
  const failing = mutex('a', work('1', first.promise))
  const waiting = mutex('a', work('2'))
  await mutex('b', work('3'))
  first.reject(new Error('it fails'))
  await assert.rejects(failing, /it fails/)
  await waiting
  assert.deepEqual(events, ['1 begins', '3 begins', '3 ends', '2 begins', '2 ends'])
})

test('work waits for all earlier work, even if that work failed, and keeps the order of the calls', async () => {
  const runAlone = createMutex()
  const events: string[] = []
  const first = Promise.withResolvers<void>()
  const failing = runAlone(() => first.promise)
  const others = ['2', '3'].map((name) => runAlone(async () => void events.push(name)))
  await new Promise(setImmediate)
  assert.deepEqual(events, [])
  first.reject(new Error('it fails'))
  await assert.rejects(failing, /it fails/)
  await Promise.all(others)
  assert.deepEqual(events, ['2', '3'])
})
