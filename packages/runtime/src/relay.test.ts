import assert from 'node:assert/strict'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { test } from 'vitest'
import { CHAIN_START, seal } from './event-codec.ts'
import { noteUnrelayed, relay } from './relay.ts'
import { migrateUnfinished, unfinished } from './unfinished.ts'

/** Facts of a stream that has `first` already, with ids such as `x 0`. */
async function appended(store: EventStore, id: string, { first = 0, count = 1, category = 'payhash' } = {}): Promise<void> {
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
  const meta = { command: 'c', at: 0, correlation: 'o', trace: 't' }
  const facts = Array.from({ length: count }, (_, n) => ({ id: `${id} ${first + n}`, fact, meta }))
  const stream = `${category}-${id}`
  await store.append(
    stream,
    first === 0 ? 'none' : first - 1,
    seal({ stream, revision: first, chain: CHAIN_START }, facts).events,
  )
}

type World = Awaited<ReturnType<typeof memoryWorld>>

/**
 * The relay of a service that has run the processes of its streams at their first fact, and not since.
 * @param saving each transaction goes through it
 */
async function relaying(
  { platform }: World,
  publish: Bus['publish'] = (topic, messages) => platform.bus.publish(topic, messages),
  saving = <T>(save: () => Promise<T>): Promise<T> => save(),
) {
  const { views, progress } = platform
  await migrateUnfinished(views)
  const index = unfinished(views, 'settlement')
  for (const id of ['x', 'y']) index.ran(`payhash-${id}`, { revision: 0, asks: 'nothing' })
  const transaction = () => ({
    execute: (work: Parameters<ReturnType<typeof views.db.transaction>['execute']>[0]) =>
      saving(() => views.db.transaction().execute(work)),
  })
  const db = new Proxy(views.db, {
    get: (target, name): unknown => (name === 'transaction' ? transaction : Reflect.get(target, name)),
  })
  const stop = new AbortController()
  const own = { service: 'settlement', categories: ['payhash'], unfinished: index }
  const running = relay({ ...platform, ...own, bus: { ...platform.bus, publish }, views: { ...views, db } }, stop.signal)
  // Whoever waits for something else meanwhile hears of it when it asks.
  running.catch(() => undefined)
  const position = async () => (await progress.load('relay.settlement')).position
  return { running, stop, position, behind: async () => [...(await index.behind(Date.now(), 9))].toSorted() }
}

/** The ids of what such a bus has taken. */
function listening({ platform }: World, before = (_id: string): Promise<void> => Promise.resolve()) {
  const ids: string[] = []
  const publish: Bus['publish'] = async (topic, messages) => {
    await before(messages[0]?.id ?? '')
    await platform.bus.publish(topic, messages)
    ids.push(...messages.map(({ id }) => id))
  }
  return { ids, publish }
}

const endOf = async ({ store }: World) => (await store.readAll('start', 9)).at(-1)?.position

test('the position stays where it is until the bus has what lies before it', async () => {
  const world = await memoryWorld()
  await appended(world.store, 'x')
  const { running, position } = await relaying(world, () => Promise.reject(new Error('the bus is broken')))
  await assert.rejects(running, /the bus is broken/)
  assert.equal(await position(), 'start')
})

test('what was published is written down, at the latest when the relay ends, with the streams that it is of', async () => {
  const world = await memoryWorld()
  await appended(world.store, 'x', { count: 2 })
  await appended(world.store, 'y')
  const { running, stop, position, behind } = await relaying(world)
  const seen: string[] = []
  await world.platform.bus.subscribe({
    group: 'listener',
    topic: 'settlement.events',
    handle: async ({ id }) => {
      seen.push(id)
      return 'done'
    },
  })
  await until('it is published', () => seen.length === 3)
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  // The process of the other one has run at its only fact.
  assert.deepEqual(await behind(), ['payhash-x'])
})

test('what the bus did not take is tried again, before what came after it', async () => {
  const world = await memoryWorld()
  await appended(world.store, 'x')
  let tries = 0
  const { ids, publish } = listening(world, async (id) => {
    if (id !== 'x 0' || ++tries === 3) return
    if (tries === 1) await appended(world.store, 'y')
    throw new Fault('the bus is away')
  })
  const { running, stop, position } = await relaying(world, publish)
  await Promise.race([running, until('the later fact is published', () => ids.includes('y 0'))])
  stop.abort()
  await running
  assert.deepEqual(ids, ['x 0', 'y 0'])
  assert.equal(await position(), await endOf(world))
})

test('what could not be written down is written down with the next save, though nothing comes after it', async () => {
  const world = await memoryWorld()
  await appended(world.store, 'x', { count: 2 })
  let saves = 0
  const { running, stop, position, behind } = await relaying(world, undefined, (save) =>
    ++saves === 1 ? Promise.reject(new Error('the disk is full')) : save(),
  )
  await until('a save has failed', () => saves > 0)
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  assert.deepEqual(await behind(), ['payhash-x'])
})

test('a save that fails takes nothing back that was published meanwhile', async () => {
  const world = await memoryWorld()
  await appended(world.store, 'x')
  await appended(world.store, 'y', { count: 2 })
  let saves = 0
  const { ids, publish } = listening(world)
  const { running, stop, position, behind } = await relaying(world, publish, async (save) => {
    if (++saves > 1) return save()
    await appended(world.store, 'x', { first: 1 })
    await until('the newer fact is published', () => ids.includes('x 1'))
    throw new Error('the disk is full')
  })
  await until('a save has failed', () => saves > 0 && ids.includes('x 1'))
  stop.abort()
  await running
  assert.equal(await position(), await endOf(world))
  assert.deepEqual(await behind(), ['payhash-x', 'payhash-y'])
})

test('what was appended and never relayed is open at a start, however much it is; what was relayed is not', async () => {
  const { platform, store } = await memoryWorld()
  await migrateUnfinished(platform.views)
  await appended(store, 'relayed')
  await platform.progress.settle('relay.settlement', (await store.readAll('start', 1))[0]?.position ?? 0n)
  await appended(store, 'elsewhere', { category: 'outpoint' })
  // More than a page of the log.
  await appended(store, 'x', { count: 1001 })
  await appended(store, 'y')
  const index = unfinished(platform.views, 'settlement')
  index.ran('payhash-x', { revision: 999, asks: 'nothing' })
  await noteUnrelayed({ ...platform, service: 'settlement', categories: ['payhash'], unfinished: index })
  assert.deepEqual([...(await index.behind(Date.now(), 9))].toSorted(), ['payhash-x', 'payhash-y'])
})
