import assert from 'node:assert/strict'
import { systemChance } from '@penstock/adapters/system/chance.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import { test } from 'vitest'
import { type DemoSellersOptions, runSellers } from '@penstock/standalone/run-sellers.ts'

/** Creates a network without sellers that answers only request number `answersAt`. With 0 it stops the sellers instead. */
function createFakeNetwork(stop: AbortController, answersAt: number) {
  let requests = 0
  const nodes = () => {
    requests += 1
    if (requests === answersAt) return Promise.resolve([])
    if (answersAt === 0) stop.abort()
    return Promise.reject(new Fault('the simulated network does not answer'))
  }
  // The cast is safe because `runSellers` uses only these parts before the first seller starts.
  const neighbourhood = {
    clock: systemClock,
    ids: systemChance,
    log: openLogger('silent'),
    network: { control: { nodes } },
  } as unknown as DemoSellersOptions
  return { only: neighbourhood, asked: () => requests }
}

test('runSellers retries while the network does not answer, and stops retrying when it is aborted', async () => {
  const stop = new AbortController()
  const lateNetwork = createFakeNetwork(stop, 3)
  await runSellers(lateNetwork.only, stop.signal)
  assert.equal(lateNetwork.asked(), 3)
  const endlessWait = createFakeNetwork(stop, 0)
  await runSellers(endlessWait.only, stop.signal)
  assert.equal(endlessWait.asked(), 1)
})
