import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { fireTimers } from './timers.ts'

/** Fires one timer that is due, until it was tried once. @returns the timers that are left */
async function left(decide: () => Promise<void>) {
  const { platform } = await memoryWorld()
  const { timers } = platform
  const lapse = { step: 'lapse', due: { at: 1 }, command: { type: 'ClaimPayhash', data: {} } }
  await timers.replace('s', 'payhash-x', [lapse], 0)
  const stop = new AbortController()
  let tried = false
  const trying = async () => {
    tried = true
    await decide()
  }
  const firing = fireTimers({ service: 's', timers, basics: platform, height: () => undefined, decide: trying }, stop.signal)
  await until('it was tried', () => tried)
  stop.abort()
  await firing
  return timers.list(10)
}

test('a deadline stays until it was carried out', async () => {
  assert.equal((await left(() => Promise.reject(new Fault('away')))).length, 1)
  assert.deepEqual(await left(() => Promise.resolve()), [])
})
