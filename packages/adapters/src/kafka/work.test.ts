import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/ports/bus-listen.contract.ts'
import type { Handled } from '@penstock/ports/bus.ts'
import { test } from 'vitest'
import { systemClock } from '../system/clock.ts'
import type { ParkedKeys } from './parked-tables.ts'
import type { Received } from './received.ts'
import { openWindow } from './window.ts'
import { work } from './work.ts'

const MESSAGE: Received = { id: 'a', key: 'k', headers: {}, body: '', partition: 0, offset: 7, at: 0 }

test('a handler is told that its message is kept when it is: not while the table fails, nor by the table’s delay', async () => {
  const course: string[] = []
  let fails = 2
  const park: ParkedKeys['park'] = async () => {
    await systemClock.sleep(5)
    if (fails-- > 0) {
      course.push('failed')
      throw new Fault('the database is away')
    }
    course.push('kept')
  }
  // Of the table only this is called.
  const table = { park } as unknown as ParkedKeys
  const window = openWindow(0)
  const options = { clock: systemClock, retryMinMs: 1, retryMaxMs: 1, concurrency: 1 }
  const working = work({ group: 'readers', topic: 'orders' }, table, () => window, options)
  const handle = (): Promise<Handled> => {
    course.push('handled')
    return Promise.resolve({ park: 'bad', kept: () => void course.push('told') })
  }
  working.add(handle, () => undefined)
  working.take(MESSAGE, window)
  await until(() => course.includes('told'), 'it is told')
  await working.stop()
  assert.deepEqual(course, ['handled', 'failed', 'handled', 'failed', 'handled', 'kept', 'told'])
  assert.equal(window.progress(), 8)
})

test('a replay waits for a table that fails for a while, and frees its key and its slot', async () => {
  let left: Received | undefined = MESSAGE
  let faults = 0
  /** Fails twice at every place. */
  const away = new Map<string, number>()
  const failing = (place: string): void => {
    const times = away.get(place) ?? 0
    away.set(place, times + 1)
    if (times >= 2) return
    faults++
    throw new Fault('the database is away')
  }
  const replaying: Partial<ParkedKeys> = {
    first: async () => {
      failing(left ? 'first' : 'none left')
      return left
    },
    remove: async () => {
      failing('remove')
      left = undefined
    },
    release: async () => {
      failing('release')
      return true
    },
  }
  const window = openWindow(0)
  const options = { clock: systemClock, retryMinMs: 1, retryMaxMs: 1, concurrency: 1 }
  const place = { group: 'readers', topic: 'orders' }
  const working = work(place, replaying as ParkedKeys, () => window, options)
  const seen: string[] = []
  working.add(
    async ({ id, key }) => (seen.push(`${key}/${id}`), 'done'),
    () => undefined,
  )
  const key = { ...place, key: 'k', partition: 0, replaying: true }
  assert.equal(working.noteParked([key], working.parkedVersion()), true)
  // With one slot for all of them, another key goes on only if the replay gave its own back.
  await until(() => working.parkedVersion() > 0, 'the replay has ended')
  working.take({ ...MESSAGE, id: 'b', key: 'other' }, window)
  await until(() => window.progress() === 8, 'the other key')
  working.take({ ...MESSAGE, id: 'c', offset: 8 }, window)
  await until(() => window.progress() === 9, 'the key, which is free')
  await working.stop()
  assert.equal(faults, 8)
  assert.deepEqual(seen, ['k/a', 'k/a', 'k/a', 'other/b', 'k/c'])
})
