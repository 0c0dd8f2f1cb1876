import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { onTestFinished, test } from 'vitest'
import { effects } from './effects.ts'

const about = { category: 'settlement', aggregateId: 'o', correlation: 'o' }

async function running() {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return effects((await memoryWorld()).platform, stop.signal)
}

test('an outcome that changed nothing is looked for again while the state asks', async () => {
  const runs = await running()
  let acts = 0
  runs.start({ key: 'k', service: 's', name: 'settle', about, act: async () => (++acts === 3 ? 'recorded' : 'nothing-new') })
  await runs.close()
  assert.equal(acts, 3)
})

test('who rests where there is nothing new rests longer, and comes back from a fault as soon as others', async () => {
  const stop = new AbortController()
  const { platform } = await memoryWorld()
  const pauses: number[] = []
  const clock = { now: () => 0, monotonicMs: () => 0, sleep: (ms: number) => Promise.resolve(void pauses.push(ms)) }
  const runs = effects({ ...platform, clock }, stop.signal)
  const outcomes = ['nothing-new', 'failed', 'nothing-new', 'recorded'] as const
  let acts = 0
  const act = async () => {
    const outcome = outcomes[acts++] ?? 'recorded'
    if (outcome === 'failed') throw new Fault('no answer')
    return outcome
  }
  runs.start({ key: 'k', service: 's', name: 'prove', about, restMs: 1000, act })
  await runs.close()
  assert.deepEqual(pauses, [1000, 50, 2000])
})

test('one effect never runs beside itself', async () => {
  const runs = await running()
  let acts = 0
  const pay = { key: 'pay 1', service: 's', name: 'pay', about }
  const act = async () => {
    acts += 1
    return 'recorded' as const
  }
  runs.start({ ...pay, act })
  runs.start({ ...pay, act })
  runs.start({ ...pay, key: 'pay 2', act })
  await runs.close()
  assert.equal(acts, 2)
})
