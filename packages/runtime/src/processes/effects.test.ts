import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { onTestFinished, test } from 'vitest'
import { createEffectRunner } from './effects.ts'

const about = { category: 'settlement', aggregateId: 'o', correlation: 'o' }

async function createRunner() {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return createEffectRunner((await createMemoryPlatform()).platform, stop.signal)
}

test('an effect whose outcome changed nothing runs again while the state requests it', async () => {
  const runner = await createRunner()
  let calls = 0
  runner.start({ key: 'k', service: 's', name: 'settle', about, act: async () => (++calls === 3 ? 'recorded' : 'nothing-new') })
  await runner.close()
  assert.equal(calls, 3)
})

test.each([
  ['the random number does not shorten them', [0, 0], [1000, 50, 2000]],
  ['the random number shortens them by a quarter', [128, 0], [750, 38, 1500]],
])('the waits after unchanged outcomes double, and a fault has its usual wait: %s', async (_, randomBytes, waits) => {
  const stop = new AbortController()
  const { platform } = await createMemoryPlatform()
  const pauses: number[] = []
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: (ms: number) => Promise.resolve(void pauses.push(ms)) }
  const ids = { ...platform.ids, random: () => Uint8Array.from(randomBytes) }
  const runner = createEffectRunner({ ...platform, clock, ids }, stop.signal)
  const outcomes = ['nothing-new', 'failed', 'nothing-new', 'recorded'] as const
  let calls = 0
  const act = async () => {
    const outcome = outcomes[calls++] ?? 'recorded'
    if (outcome === 'failed') throw new Fault('no answer')
    return outcome
  }
  runner.start({ key: 'k', service: 's', name: 'prove', about, retryDelayMs: 1000, act })
  await runner.close()
  assert.deepEqual(pauses, waits)
})

test('an effect with the same key never runs twice at once', async () => {
  const runner = await createRunner()
  let calls = 0
  const pay = { key: 'pay 1', service: 's', name: 'pay', about }
  const act = async () => {
    calls += 1
    return 'recorded' as const
  }
  runner.start({ ...pay, act })
  runner.start({ ...pay, act })
  runner.start({ ...pay, key: 'pay 2', act })
  await runner.close()
  assert.equal(calls, 2)
})
