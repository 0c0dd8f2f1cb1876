import assert from 'node:assert/strict'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consumers/consume.ts'
import type { Consumer } from './consumers/consumer.ts'
import { readEvent } from './commands/event-codec.ts'
import { eventTopic, factToBus } from './commands/messages.ts'
import { createProjector } from './views/project.ts'
import { createReactor } from './consumers/react.ts'
import { type Event, on, type Projection } from './service.ts'
import { appendFacts, claimContract, ORDER, type World } from './append-facts.fixture.ts'

async function start(world: World, consumer: Consumer): Promise<void> {
  const stop = new AbortController()
  const running = await consume({ ...world.platform, basePorts: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
}

/**
 * Stores four facts and applies the first two. The third fact was in flight in a replica that crashed. Another replica has
 * moved the checkpoint past that fact.
 */
async function appendAfterCrash(world: World, consumer: string, apply: (event: StoredEvent) => Promise<unknown>) {
  const events = await appendFacts(world, 4)
  for (const event of events.slice(0, 2)) await apply(event)
  await world.platform.progress.saveCheckpoint(`${consumer}@settlement`, events[2]?.position ?? 0n)
  return events
}

test('a restarted projection fills facts that a crashed replica left below the checkpoint, in order', async () => {
  const world = await createMemoryPlatform()
  const { views, progress } = world.platform
  const seen: number[] = []
  const projection: Projection = {
    name: 'claims',
    version: 1,
    from: [claimContract],
    migrate: async () => undefined,
    apply: async (_, events) => void seen.push(...events.map(({ revision }) => revision)),
  }
  const create = () => createProjector({ service: 'gateway', views, progress }, projection, 'settlement', [claimContract])
  const before = create()
  await appendAfterCrash(world, before.name, (event) => before.apply(readEvent(claimContract, event)))
  await start(world, create())
  assert.deepEqual(seen, [0, 1, 2, 3])
})

test('a fact that a crashed replica left below the checkpoint gets its reaction when the bus delivers it', async () => {
  const world = await createMemoryPlatform()
  const decided: string[] = []
  const reaction = on(claimContract, 'PayhashClaimed', 'outpoint.ClaimOutpoint', (_, { revision }: Event) => [
    { id: `o${revision}`, data: { orderId: ORDER, attempt: 1 } },
  ])
  const decide = async ({ aggregateId }: { aggregateId: string }) => decided.push(aggregateId)
  const create = () =>
    createReactor(
      { service: 'channel-watcher', owns: () => true, bus: world.platform.bus, basePorts: world.platform, decide },
      'settlement',
      [claimContract],
      [reaction],
    )
  const before = create()
  const events = await appendAfterCrash(world, before.name, (event) => before.apply(readEvent(claimContract, event)))
  await start(world, create())
  assert.deepEqual(decided, ['o0', 'o1', 'o3'])
  await world.platform.bus.publish(eventTopic('settlement'), events.slice(2).map(factToBus))
  await waitUntil('the third fact has its reaction', () => decided.includes('o2'))
  assert.deepEqual(decided, ['o0', 'o1', 'o3', 'o2'])
})
