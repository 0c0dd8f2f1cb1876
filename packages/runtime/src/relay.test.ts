import assert from 'node:assert/strict'
import type { Bus } from '@penstock/ports/bus.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { CHAIN_START, seal } from './event-codec.ts'
import { relay } from './relay.ts'
import { migrateUnfinished, unfinished } from './unfinished.ts'

/** A store with one fact, and the relay of its owner with this bus. */
async function relaying(publish?: Bus['publish']) {
  const { platform, store } = await memoryWorld()
  await migrateUnfinished(platform.views)
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
  const meta = { command: 'c', at: 0, correlation: 'o', trace: 't' }
  await store.append(
    'payhash-x',
    'none',
    seal({ stream: 'payhash-x', revision: 0, chain: CHAIN_START }, [{ id: 'e', fact, meta }]).events,
  )
  const stop = new AbortController()
  const bus = publish ? { ...platform.bus, publish } : platform.bus
  const own = { service: 'settlement', categories: ['payhash'], unfinished: unfinished(platform.views, 'settlement') }
  const running = relay({ ...platform, ...own, bus }, stop.signal)
  return { platform, running, stop, position: async () => (await platform.progress.load('relay.settlement')).position }
}

test('the position stays where it is until the bus has what lies before it', async () => {
  const { running, position } = await relaying(() => Promise.reject(new Error('the bus is broken')))
  await assert.rejects(running, /the bus is broken/)
  assert.equal(await position(), 'start')
})

test('what was published is written down, at the latest when the relay ends', async () => {
  const { platform, running, stop, position } = await relaying()
  const seen: string[] = []
  await platform.bus.subscribe({
    group: 'listener',
    topic: 'settlement.events',
    handle: async ({ id }) => {
      seen.push(id)
      return 'done'
    },
  })
  await until('it is published', () => seen.length === 1)
  stop.abort()
  await running
  assert.notEqual(await position(), 'start')
})
