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
