import assert from 'node:assert/strict'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { test } from 'vitest'
import { type Neighbourhood, sellers } from '@penstock/standalone/sellers.ts'

/** A network that answers its third question, and has nobody who sells. */
function place(stop: AbortController, answersAt: number) {
  let asked = 0
  const nodes = () => {
    asked += 1
    if (asked === answersAt) return Promise.resolve([])
    if (answersAt === 0) stop.abort()
    return Promise.reject(new Fault('the simulated network does not answer'))
  }
  // Only what is asked before the first seller begins.
  const only = { clock: systemClock, log: openLog('silent'), network: { control: { nodes } } } as unknown as Neighbourhood
  return { only, asked: () => asked }
}

test('a network that is started again just then is waited for, and an end ends the wait', async () => {
  const stop = new AbortController()
  const late = place(stop, 3)
  await sellers(late.only, stop.signal)
  assert.equal(late.asked(), 3)
  const never = place(stop, 0)
  await sellers(never.only, stop.signal)
  assert.equal(never.asked(), 1)
})
