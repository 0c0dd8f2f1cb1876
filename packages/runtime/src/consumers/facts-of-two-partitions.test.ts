import assert from 'node:assert/strict'
import type { BusMessage, Subscription } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { onTestFinished, test } from 'vitest'
import { factToBus } from '../commands/messages.ts'
import { type Event, on, type Projection } from '../service.ts'
import { createProjector } from '../views/project.ts'
import { consume } from './consume.ts'
import type { Consumer } from './consumer.ts'
import { createReactor } from './react.ts'
import { appendFacts, claimContract, ORDER, type World } from '../append-facts.fixture.ts'

type Replica = (event: StoredEvent | undefined) => Promise<void>

/** Starts a replica on a bus that may lose messages. @returns a function that delivers a fact to this replica */
async function startReplica(world: World, consumer: Consumer): Promise<Replica> {
  const stop = new AbortController()
  let handle: Subscription['handle'] = () => Promise.reject(new Error('not subscribed'))
  const bus = {
    ...world.platform.bus,
    mayLose: true as const,
    subscribe: async (subscription: Subscription) => {
      handle = subscription.handle
      return { close: async () => undefined }
    },
  }
  const running = await consume({ ...world.platform, bus, basePorts: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  return async (event) => {
    assert.equal(await handle(factToBus(event ?? assert.fail()) satisfies BusMessage), 'done')
  }
}

/** The first replica reads the unpaid lane, and the second one the lane of all other facts. A paid fact overtakes two facts. */
async function deliverInTwoLanes(unpaidLane: Replica, paidLane: Replica, events: readonly StoredEvent[]): Promise<void> {
  await unpaidLane(events[0])
  await paidLane(events[3])
  await unpaidLane(events[1])
  await unpaidLane(events[2])
  await paidLane(events[4])
}

test('a projection applies facts of two lanes once and in order, also at two replicas', async () => {
  const world = await createMemoryPlatform()
  const { views, progress } = world.platform
  const applied: number[] = []
  const projection: Projection = {
    name: 'claims',
    version: 1,
    from: [claimContract],
    migrate: async () => undefined,
    apply: async (_, events) => void applied.push(...events.map(({ revision }) => revision)),
  }
  const create = () => createProjector({ service: 'gateway', views, progress }, projection, 'settlement', [claimContract])
  const replicas = [await startReplica(world, create()), await startReplica(world, create())] as const
  await deliverInTwoLanes(...replicas, await appendFacts(world, 5))
  assert.deepEqual(applied, [0, 1, 2, 3, 4])
})

test('a reaction to a fact comes after those to all earlier facts of its stream, also at two replicas', async () => {
  const world = await createMemoryPlatform()
  const commands = new Set<string>()
  const reaction = on(claimContract, 'PayhashClaimed', 'outpoint.ClaimOutpoint', (_, { revision }: Event) => [
    { id: `o${revision}`, data: { orderId: ORDER, attempt: 1 } },
  ])
  // The owner of the stream drops a repeated command by its id. A set keeps the order of the first commands.
  const decide = async ({ id, aggregateId }: { id: string; aggregateId: string }) => void commands.add(`${aggregateId} ${id}`)
  const context = { service: 'channel-watcher', owns: () => true, bus: world.platform.bus, basePorts: world.platform, decide }
  const create = () => createReactor(context, 'settlement', [claimContract], [reaction])
  const replicas = [await startReplica(world, create()), await startReplica(world, create())] as const
  await deliverInTwoLanes(...replicas, await appendFacts(world, 5))
  assert.deepEqual(
    [...commands].map((command) => command.split(' ')[0]),
    ['o0', 'o1', 'o2', 'o3', 'o4'],
  )
})
