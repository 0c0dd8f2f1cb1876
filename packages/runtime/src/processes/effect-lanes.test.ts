import assert from 'node:assert/strict'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { onTestFinished, test } from 'vitest'
import { createEffectLanes, MAX_CONCURRENT, MAX_CONCURRENT_IN_LANE } from './effect-lanes.ts'
import { createEffectRunner } from './effects.ts'

const about = { category: 'settlement', aggregateId: 'o', correlation: 'o' }

test('one lane hangs, and the effects of all other lanes finish', async () => {
  const stop = new AbortController()
  const { platform } = await createMemoryPlatform()
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() }
  const runner = createEffectRunner({ ...platform, clock }, stop.signal)
  const hanging: (() => void)[] = []
  onTestFinished(async () => {
    stop.abort()
    // Runs that wait for their lane start when another one ends.
    while (hanging.length > 0) for (const end of hanging.splice(0)) await Promise.resolve(end())
  })
  const finished = new Set<string>()
  const pay = { service: 's', name: 'pay', about }
  for (let n = 0; n < 2 * MAX_CONCURRENT; n++) {
    const act = async () => {
      await new Promise<void>((end) => hanging.push(end))
      return 'recorded' as const
    }
    runner.start({ ...pay, key: `dead ${n}`, lane: 'dead', act })
  }
  for (let n = 0; n < 2 * MAX_CONCURRENT; n++) {
    const act = async () => {
      finished.add(`lane ${n}`)
      return 'recorded' as const
    }
    runner.start({ ...pay, key: `alive ${n}`, lane: `host ${n % 3}`, act })
  }
  await waitUntil('the other lanes finish', () => finished.size === 2 * MAX_CONCURRENT)
  assert.equal(hanging.length, MAX_CONCURRENT_IN_LANE)
})

test('all lanes of an effect share its places, and another effect has places of its own', async () => {
  const runInLane = createEffectLanes()
  const ends: (() => void)[] = []
  const hang = () => new Promise<void>((end) => ends.push(end))
  const runs = Array.from({ length: MAX_CONCURRENT + 5 }, (_, n) => runInLane('pay', `host ${n}`, hang))
  await waitUntil('all places are taken', () => ends.length === MAX_CONCURRENT)
  assert.equal(await runInLane('cancel', undefined, async () => 'done'), 'done')
  assert.equal(ends.length, MAX_CONCURRENT)
  while (ends.length > 0) {
    for (const end of ends.splice(0)) end()
    await new Promise(setImmediate)
  }
  await Promise.all(runs)
})

test('work that fails gives its places back', async () => {
  const runInLane = createEffectLanes()
  for (let n = 0; n < 2 * MAX_CONCURRENT; n++)
    await assert.rejects(
      runInLane('pay', 'host', () => Promise.reject(new Error('no answer'))),
      /no answer/,
    )
  assert.equal(await runInLane('pay', 'host', async () => 'done'), 'done')
})
