import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consume.ts'
import type { Consumer } from './consumer.ts'
import { CHAIN_START, eventOf, seal } from './event-codec.ts'
import { eventTopic, factToBus } from './messages.ts'
import { projector } from './project.ts'
import { reactor } from './react.ts'
import { ask, type Event, on, type Projection } from './service.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const payhash = contractOf('payhash')
type World = Awaited<ReturnType<typeof memoryWorld>>

async function stored(world: World, count: number): Promise<readonly StoredEvent[]> {
  let chain = CHAIN_START
  for (let n = 0; n < count; n++) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const sealed = seal({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await world.store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return world.store.read('payhash-x')
}

async function start(world: World, consumer: Consumer): Promise<void> {
  const stop = new AbortController()
  const running = await consume({ ...world.platform, basics: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
}

/**
 * Of four facts the first two are done, the third was in the hands of a replica that died, and another one has handled
 * facts behind it: the position up to which all is said to be done lies past the third.
 */
async function afterADeath(world: World, consumer: string, applied: (event: StoredEvent) => Promise<unknown>) {
  const events = await stored(world, 4)
  for (const event of events.slice(0, 2)) await applied(event)
  await world.platform.progress.settle(`${consumer}@settlement`, events[2]?.position ?? 0n)
  return events
}

test('a projection that starts anew fills what a dead replica left below the watermark, in order', async () => {
  const world = await memoryWorld()
  const { views, progress } = world.platform
  const seen: number[] = []
  const projection: Projection = {
    name: 'claims',
    version: 1,
    from: [payhash],
    migrate: async () => undefined,
    apply: async (_, { revision }) => void seen.push(revision),
  }
  const made = () => projector({ service: 'gateway', views, progress }, projection, 'settlement', [payhash])
  const before = made()
  await afterADeath(world, before.name, (event) => before.apply(eventOf(payhash, event)))
  await start(world, made())
  assert.deepEqual(seen, [0, 1, 2, 3])
})

test('a reaction to what a dead replica left below the watermark is made when the bus hands it over', async () => {
  const world = await memoryWorld()
  const decided: string[] = []
  const asked = on(payhash, 'PayhashClaimed', (_, { revision }: Event) => [
    ask(contractOf('outpoint'), `o${revision}`, 'ClaimOutpoint', { orderId: ORDER, attempt: 1 }),
  ])
  const decide = async ({ aggregateId }: { aggregateId: string }) => decided.push(aggregateId)
  const made = () =>
    reactor(
      { service: 'channel-watcher', owns: () => true, bus: world.platform.bus, basics: world.platform, decide },
      'settlement',
      [payhash],
      [asked],
    )
  const before = made()
  const events = await afterADeath(world, before.name, (event) => before.apply(eventOf(payhash, event)))
  await start(world, made())
  assert.deepEqual(decided, ['o0', 'o1', 'o3'])
  await world.platform.bus.publish(eventTopic('settlement'), events.slice(2).map(factToBus))
  await until('the third is reacted to as well', () => decided.includes('o2'))
  assert.deepEqual(decided, ['o0', 'o1', 'o3', 'o2'])
})
