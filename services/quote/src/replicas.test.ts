import { bind, run } from '@penstock/runtime/run.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { priceStream } from './price.ts'
import { quoting } from './service.ts'

test('replicas that see the market differently do not answer each other’s price for ever', async () => {
  const { platform, store } = await memoryWorld()
  const stream = priceStream(platform.clock.now())
  let looks = 0
  const counting = {
    ...store,
    read: (...of: Parameters<typeof store.read>) => {
      if (of[0] === `price-${stream}`) looks += 1
      return store.read(...of)
    },
  }
  const ports = { chain: { feeRate: () => Promise.resolve(2) }, graph: { between: () => Promise.resolve([]) } }
  const silent = { name: 'silent', read: () => Promise.reject(new Error('no answer')) }
  const fixed = {
    name: 'fixed',
    read: () => Promise.resolve({ source: 'fixed', centsPerBtc: 10_000_000n, at: platform.clock.now() }),
  }
  // One has no rate, the other no seller: two reasons to withdraw the price.
  for (const [index, source] of [silent, fixed].entries()) {
    const running = await run([bind(quoting(), { ...ports, rates: [source] })], {
      ...platform,
      store: counting,
      instance: `quote-${index}`,
    })
    onTestFinished(() => running.close())
  }
  const prices = () => store.read(`price-${stream}`)
  await until('one has spoken', async () => (await prices()).length > 0, 10_000)
  const before = looks
  await until('all have looked again', () => looks >= before + 4, 10_000)
  expect(await prices()).toHaveLength(1)
})
