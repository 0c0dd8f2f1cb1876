import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { openLog } from './log.ts'
import { fireTimers } from './timers.ts'

const HOUR_MS = 3_600_000

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

test('a deadline that could not be carried out is tried again, though the wall clock was set back by an hour', async () => {
  const { platform } = await memoryWorld()
  const { timers } = platform
  await timers.replace('s', 'payhash-x', [{ step: 'lapse', due: { at: 1 }, command: { type: 'ClaimPayhash', data: {} } }], 0)
  const stop = new AbortController()
  let [elapsedMs, tries] = [0, 0]
  const clock = {
    now: () => 10 * HOUR_MS + elapsedMs - (tries > 0 ? HOUR_MS : 0),
    monotonicMs: () => elapsedMs,
    sleep: async (ms: number) => {
      elapsedMs += ms
      if (tries > 1 || elapsedMs > HOUR_MS / 2) stop.abort()
    },
  }
  const decide = () => Promise.reject(new Fault(`away at the ${++tries}. time`))
  const log = openLog('silent')
  await fireTimers({ service: 's', timers, basics: { ...platform, clock, log }, height: () => undefined, decide }, stop.signal)
  assert.equal(tries, 2)
  assert.ok(elapsedMs < 5000, `${elapsedMs} ms`)
})
