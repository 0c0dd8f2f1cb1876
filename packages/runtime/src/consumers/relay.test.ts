import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { test } from 'vitest'
import { CHAIN_START, sealFacts } from '../commands/event-codec.ts'
import { recordUnrelayedStreams, relayFacts } from './relay.ts'
import { migrateOpenStreams, trackOpenStreams } from '../processes/open-streams.ts'

/** Appends facts with ids such as `x 0` to a stream that already has `first` facts. */
async function appendFacts(store: EventStore, id: string, { first = 0, count = 1, category = 'payhash' } = {}): Promise<void> {
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
  const meta = { command: 'c', at: 0, correlation: 'o', trace: 't' }
  const facts = Array.from({ length: count }, (_, n) => ({ id: `${id} ${first + n}`, fact, meta }))
  const stream = `${category}-${id}`
  await store.append(
    stream,
    first === 0 ? 'none' : first - 1,
    sealFacts({ stream, revision: first, chain: CHAIN_START }, facts).events,
  )
}

/** Later than every change of a stream. */
const ANY_TIME = Number.MAX_SAFE_INTEGER

type World = Awaited<ReturnType<typeof createMemoryPlatform>>

/**
 * Starts the relay of a service whose processes have run at the first fact of each stream, and not later.
 * @param saving wraps each transaction
 */
async function startRelay(
  { platform }: World,
  publish: Bus['publish'] = (topic, messages) => platform.bus.publish(topic, messages),
  saving = <T>(save: () => Promise<T>): Promise<T> => save(),
) {
  const { views, progress } = platform
  await migrateOpenStreams(views)
  const index = trackOpenStreams(views, 'settlement')
  for (const id of ['x', 'y']) index.recordRun(`payhash-${id}`, { revision: 0, pendingStep: 'nothing' })
  const transaction = () => ({
    execute: (work: Parameters<ReturnType<typeof views.db.transaction>['execute']>[0]) =>
      saving(() => views.db.transaction().execute(work)),
  })
  const db = new Proxy(views.db, {
    get: (target, name): unknown => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  })
  const stop = new AbortController()
  const own = { service: 'settlement', categories: ['payhash'], onlyRelayed: ['payhash'], openStreams: index }
  const running = relayFacts({ ...platform, ...own, bus: { ...platform.bus, publish }, views: { ...views, db } }, stop.signal)
  // Marks a rejection as handled, so that a test can await `running` later.
  running.catch(() => undefined)
  const position = async () => (await progress.load('relay.settlement')).position
  return { running, stop, position, behind: async () => [...(await index.listBehind(ANY_TIME, 9))].toSorted() }
}

/** Creates a publish function that records the ids of the facts that the bus accepted. */
function recordPublished({ platform }: World, before = (_id: string): Promise<void> => Promise.resolve()) {
  const ids: string[] = []
  const publish: Bus['publish'] = async (topic, messages) => {
    await before(messages[0]?.id ?? '')
    await platform.bus.publish(topic, messages)
    ids.push(...messages.map(({ id }) => id))
  }
  return { ids, publish }
}

const endOf = async ({ store }: World) => (await store.readAll('start', 9)).at(-1)?.position

test('the position does not move before the bus has accepted the facts', async () => {
  const world = await createMemoryPlatform()
  await appendFacts(world.store, 'x')
  const { running, position } = await startRelay(world, () => Promise.reject(new Error('the bus is broken')))
  await assert.rejects(running, /the bus is broken/)
  assert.equal(await position(), 'start')
})

test('the position and the streams of published facts are saved at the end of the relay at the latest', async () => {
  const world = await createMemoryPlatform()
  await appendFacts(world.store, 'x', { count: 2 })
  await appendFacts(world.store, 'y')
  const { running, stop, position, behind } = await startRelay(world)
  const seen: string[] = []
  await world.platform.bus.subscribe({
    group: 'listener',
    topic: 'settlement.events',
    handle: async ({ id }) => {
      seen.push(id)
      return 'done'
    },
  })
  await waitUntil('it is published', () => seen.length === 3)
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  // The process of payhash-y has run at its only fact.
  assert.deepEqual(await behind(), ['payhash-x'])
})

test('a fact that the bus did not accept is retried before later facts', async () => {
  const world = await createMemoryPlatform()
  await appendFacts(world.store, 'x')
  let tries = 0
  const { ids, publish } = recordPublished(world, async (id) => {
    if (id !== 'x 0' || ++tries === 3) return
    if (tries === 1) await appendFacts(world.store, 'y')
    throw new Fault('the bus is away')
  })
  const { running, stop, position } = await startRelay(world, publish)
  await Promise.race([running, waitUntil('the later fact is published', () => ids.includes('y 0'))])
  stop.abort()
  await running
  assert.deepEqual(ids, ['x 0', 'y 0'])
  assert.equal(await position(), await endOf(world))
})

test('progress that could not be saved is saved with the next save, even without later facts', async () => {
  const world = await createMemoryPlatform()
  await appendFacts(world.store, 'x', { count: 2 })
  let saves = 0
  const { running, stop, position, behind } = await startRelay(world, undefined, (save) =>
    ++saves === 1 ? Promise.reject(new Error('the disk is full')) : save(),
  )
  await waitUntil('a save has failed', () => saves > 0)
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  assert.deepEqual(await behind(), ['payhash-x'])
})

test('a failed save does not undo the progress of facts that were published meanwhile', async () => {
  const world = await createMemoryPlatform()
  await appendFacts(world.store, 'x')
  await appendFacts(world.store, 'y', { count: 2 })
  let saves = 0
  const { ids, publish } = recordPublished(world)
  const { running, stop, position, behind } = await startRelay(world, publish, async (save) => {
    if (++saves > 1) return save()
    await appendFacts(world.store, 'x', { first: 1 })
    await waitUntil('the newer fact is published', () => ids.includes('x 1'))
    throw new Error('the disk is full')
  })
  await waitUntil('a save has failed', () => saves > 0 && ids.includes('x 1'))
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  assert.deepEqual(await behind(), ['payhash-x', 'payhash-y'])
})

test('at a start, streams with unrelayed facts are open, whatever the number of facts, and relayed streams are not', async () => {
  const { platform, store } = await createMemoryPlatform()
  await migrateOpenStreams(platform.views)
  await appendFacts(store, 'relayed')
  await platform.progress.saveCheckpoint('relay.settlement', (await store.readAll('start', 1))[0]?.position ?? 0n)
  await appendFacts(store, 'elsewhere', { category: 'outpoint' })
  // These are more facts than a page of the log.
  await appendFacts(store, 'x', { count: 1001 })
  await appendFacts(store, 'y')
  const index = trackOpenStreams(platform.views, 'settlement')
  index.recordRun('payhash-x', { revision: 999, pendingStep: 'nothing' })
  await recordUnrelayedStreams({ ...platform, service: 'settlement', categories: ['payhash'], openStreams: index })
  assert.deepEqual([...(await index.listBehind(ANY_TIME, 9))].toSorted(), ['payhash-x', 'payhash-y'])
})
