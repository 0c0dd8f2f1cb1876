import { bind, run } from '@penstock/runtime/run.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, onTestFinished, test } from 'vitest'
import { priceStreamId } from './price.ts'
import { quoteService } from './service.ts'

test('replicas with different data do not overwrite each other’s price repeatedly', async () => {
  // The price's stream is of one day, so the wall clock stands still.
  const { skip, ...clock } = createSkippableClock()
  const { platform, store } = await createMemoryPlatform({}, { ...clock, now: () => Date.parse('2026-11-20T12:00:00Z') })
  const stream = priceStreamId(platform.clock.now())
  let reads = 0
  const counting = {
    ...store,
    read: (...args: Parameters<typeof store.read>) => {
      if (args[0] === `price-${stream}`) reads += 1
      return store.read(...args)
    },
  }
  const ports = { chain: { feeRate: () => Promise.resolve(2) }, graph: { between: () => Promise.resolve([]) } }
  const silent = { name: 'silent', read: () => Promise.reject(new Error('no answer')) }
  const fixed = {
    name: 'fixed',
    read: () => Promise.resolve({ source: 'fixed', centsPerBtc: 10_000_000n, at: platform.clock.now() }),
  }
  // One replica has no rate, and the other has no seller: two reasons to withdraw the price.
  for (const [index, source] of [silent, fixed].entries()) {
    const running = await run([bind(quoteService(), { ...ports, rates: [source] })], {
      ...platform,
      store: counting,
      instance: `quote-${index}`,
    })
    onTestFinished(() => running.close())
  }
  const prices = () => store.read(`price-${stream}`)
  await waitUntil('one replica has written', async () => (await prices()).length > 0)
  const before = reads
  await waitUntil('the stream was read again', () => {
    skip(1000)
    return reads >= before + 4
  })
  expect(await prices()).toHaveLength(1)
})
