import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, HandlerResult } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consume.ts'
import type { Consumer } from './consumer.ts'
import { CHAIN_START, readMeta, sealFacts } from '../commands/event-codec.ts'
import { eventTopic, factToBus } from '../commands/messages.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const payhash = contractOf('payhash')
const KEY = 'reader@settlement'
const shortTimes = { saveEveryMs: 5, moveEveryMs: 0, checkEveryMs: 0, lostAfterMs: 3_600_000 }
type World = Awaited<ReturnType<typeof createMemoryPlatform>>

/** Appends one fact to each of `count` streams. */
async function appendFirstFacts(world: World, count: number): Promise<readonly StoredEvent[]> {
  for (let n = 0; n < count; n++) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const { events } = sealFacts({ stream: `payhash-${n}`, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }])
    await world.store.append(`payhash-${n}`, 'none', events)
  }
  return world.store.readAll('start', count)
}

/** Creates the bus of one replica, which delivers only the facts that the test passes to `hand`. */
function ownBus(world: World, published: BusMessage[] = []) {
  let handle: ((message: BusMessage) => Promise<HandlerResult>) | undefined
  const bus: Bus = {
    ...world.platform.bus,
    mayLose: true,
    async publish(_, messages) {
      published.push(...messages)
    },
    async subscribe(subscription) {
      ;({ handle } = subscription)
      return { close: async () => undefined }
    },
  }
  /** Delivers a fact. If the fact is parked, it confirms that the fact was stored, unless `canKeep` is false. */
  async function hand(event: StoredEvent, canKeep = true): Promise<HandlerResult | undefined> {
    const handled = await handle?.(factToBus(event))
    if (canKeep && typeof handled === 'object') handled.onStored?.()
    return handled
  }
  return { bus, published, hand }
}

/** Appends further facts to a stream that already has a fact. */
async function appendMoreFacts(world: World, stream: string, count: number): Promise<readonly StoredEvent[]> {
  for (let n = 1; n <= count; n++) {
    const [before] = (await world.store.read(stream)).slice(-1)
    assert.ok(before)
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `g${n}`, at: n, correlation: ORDER, trace: 't' }
    const place = { stream, revision: before.revision + 1, chain: readMeta(before).chain }
    await world.store.append(stream, before.revision, sealFacts(place, [{ id: `${stream}-${n}`, fact, meta }]).events)
  }
  return world.store.read(stream)
}

function reader(seen: string[], broken: ReadonlySet<string> = new Set()): Consumer {
  return {
    name: 'reader',
    owner: 'settlement',
    contracts: [payhash],
    lastRevision: () => Promise.resolve(undefined),
    async apply({ aggregateId }) {
      if (broken.has(aggregateId)) throw new Error('the code is wrong')
      seen.push(aggregateId)
    },
  }
}

type ReplicaOptions = {
  readonly times?: typeof shortTimes
  readonly broken?: ReadonlySet<string>
  readonly progress?: World['platform']['progress']
}

async function replica(world: World, seen: string[], { times = shortTimes, broken, progress }: ReplicaOptions = {}) {
  const own = ownBus(world)
  const stop = new AbortController()
  const context = { ...world.platform, ...(progress && { progress }), bus: own.bus, basePorts: world.platform, times }
  const running = await consume(context, reader(seen, broken), stop.signal)
  const die = async (): Promise<void> => {
    stop.abort()
    await running.close()
  }
  onTestFinished(die)
  return { ...own, die }
}

const loadPosition = async (world: World) => (await world.platform.progress.load(KEY)).position

test('facts that another replica has not handled are read from the store after all messages were lost', async () => {
  const world = await createMemoryPlatform()
  const first: string[] = []
  const one = await replica(world, first)
  const events = await appendFirstFacts(world, 4)
  const [a, b, c, d] = events
  assert.ok(a && b && c && d)
  // The second fact is in a partition of a replica that crashes.
  for (const event of [a, c, d]) await one.hand(event)
  await waitUntil('the position is before the second fact', async () => (await loadPosition(world)) === a.position)
  await one.die()
  const second: string[] = []
  await replica(world, second)
  assert.deepEqual(second, ['1'])
  assert.equal(await loadPosition(world), d.position)
})

test('replicas move the position over the facts that any of them handled, and delete the records below it', async () => {
  const world = await createMemoryPlatform()
  const [one, two] = [await replica(world, []), await replica(world, [])]
  const events = await appendFirstFacts(world, 6)
  for (const [index, event] of events.entries()) await (index % 2 === 0 ? one : two).hand(event)
  const last = events.at(-1)?.position ?? 0n
  await waitUntil('the position is at the end', async () => (await loadPosition(world)) === last)
  await waitUntil('no record is left', async () => (await world.platform.progress.listHandled(KEY, 'start', last)).length === 0)
})

test('a move of the position that failed is repeated soon, although no further fact is handled', async () => {
  const world = await createMemoryPlatform()
  let failures = 3
  const progress: World['platform']['progress'] = {
    ...world.platform.progress,
    async saveCheckpoint(...args) {
      if (failures-- > 0) throw new Fault('the database restarts')
      await world.platform.progress.saveCheckpoint(...args)
    },
  }
  const one = await replica(world, [], { times: { ...shortTimes, checkEveryMs: 3_600_000 }, progress })
  const events = await appendFirstFacts(world, 3)
  for (const event of events) await one.hand(event)
  await waitUntil('the position is at the end', async () => (await loadPosition(world)) === events.at(-1)?.position)
})

test('a parked fact does not hold back the position', async () => {
  const world = await createMemoryPlatform()
  const one = await replica(world, [], { broken: new Set(['1']) })
  const events = await appendFirstFacts(world, 3)
  for (const event of events) await one.hand(event)
  await waitUntil('the position is at the end', async () => (await loadPosition(world)) === events.at(-1)?.position)
})

test('facts that do not arrive are published again, and a handled fact after them is not', async () => {
  const world = await createMemoryPlatform()
  const one = await replica(world, [], { times: { ...shortTimes, lostAfterMs: 30 } })
  const events = await appendFirstFacts(world, 4)
  for (const event of events.slice(2, 3)) await one.hand(event)
  await waitUntil('the others are published', () => one.published.length >= 3)
  assert.deepEqual(
    one.published.slice(0, 3).map(({ key }) => key),
    ['0', '1', '3'],
  )
})

/** Parks the first of two streams with three facts behind its first fact, and handles the other stream. */
async function parkedFirst(mayLose: boolean) {
  const world = await createMemoryPlatform()
  const stop = new AbortController()
  const bus: Bus = { ...world.platform.bus, ...(mayLose && { mayLose }) }
  const seen: string[] = []
  const context = { ...world.platform, bus, basePorts: world.platform, times: shortTimes }
  const running = await consume(context, reader(seen, new Set(['0'])), stop.signal)
  const close = async (): Promise<void> => {
    stop.abort()
    await running.close()
  }
  onTestFinished(close)
  await appendFirstFacts(world, 2)
  await appendMoreFacts(world, 'payhash-0', 3)
  const events = await world.store.readAll('start', 10)
  await bus.publish(eventTopic('settlement'), events.map(factToBus))
  await waitUntil('all have arrived', async () => seen.length === 1 && (await bus.parked())[0]?.messages === 4)
  assert.deepEqual(seen, ['1'])
  return { world, events, last: events.at(-1)?.position ?? 0n, close }
}

test.each([true, false])('facts that wait behind a parked fact count as handled: mayLose %s', async (mayLose) => {
  const { world, events, last, close } = await parkedFirst(mayLose)
  await close()
  const settled = await loadPosition(world)
  const handled = await world.platform.progress.listHandled(KEY, 'start', last)
  const open = events.filter(({ position }) => (settled === 'start' || position > settled) && !handled.includes(position))
  assert.deepEqual(
    open.map(({ stream, revision }) => `${stream} ${revision}`),
    [],
  )
})

test.each([true, false])(
  'facts behind a parked fact neither hold back the position nor leave a record: mayLose %s',
  async (mayLose) => {
    const { world, last } = await parkedFirst(mayLose)
    await waitUntil('the position is at the end', async () => (await loadPosition(world)) === last)
    await waitUntil('no record is left', async () => (await world.platform.progress.listHandled(KEY, 'start', last)).length === 0)
  },
)

test('a fact in flight and the facts that wait behind it are not published again', async () => {
  const world = await createMemoryPlatform()
  const own = ownBus(world)
  const stop = new AbortController()
  const consumer = { ...reader([]), apply: () => Promise.reject(new Fault('a newer version wrote it')) }
  const times = { ...shortTimes, lostAfterMs: 100 }
  const context = { ...world.platform, bus: own.bus, basePorts: world.platform, times }
  const running = await consume(context, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  const [waiting] = await appendFirstFacts(world, 2)
  assert.ok(waiting)
  await appendMoreFacts(world, 'payhash-0', 2)
  await waitUntil('the lost fact is published again, twice', async () => {
    await assert.rejects(async () => own.hand(waiting))
    return own.published.length > 1
  })
  assert.deepEqual([...new Set(own.published.map(({ key }) => key))], ['1'])
})

test('a fact is applied after the earlier facts of its stream that no replica has handled', async () => {
  const world = await createMemoryPlatform()
  const own = ownBus(world)
  const stop = new AbortController()
  const revisions: number[] = []
  const consumer: Consumer = { ...reader([]), apply: async ({ revision }) => void revisions.push(revision) }
  const context = { ...world.platform, bus: own.bus, basePorts: world.platform, times: shortTimes }
  const running = await consume(context, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  await appendFirstFacts(world, 1)
  const [done, settled, ...others] = await appendMoreFacts(world, 'payhash-0', 5)
  assert.ok(done && settled)
  await world.platform.progress.saveCheckpoint(KEY, done.position)
  await world.platform.progress.markHandled(KEY, [others[0]?.position ?? 0n])
  const last = others.at(-1)
  assert.ok(last)
  await own.hand(last)
  assert.deepEqual(revisions, [1, 3, 4, 5])
  await waitUntil('the position is at the end', async () => (await loadPosition(world)) === last.position)
})

test('a lost fact that cannot be handled is parked before the later fact, and does not hold back the position', async () => {
  const world = await createMemoryPlatform()
  const one = await replica(world, [], { broken: new Set(['0']) })
  await appendFirstFacts(world, 1)
  const last = (await appendMoreFacts(world, 'payhash-0', 2)).at(-1)
  assert.ok(last)
  const handled = await one.hand(last)
  assert.ok(typeof handled === 'object')
  assert.deepEqual(
    handled.lostBefore?.map(({ id }) => id),
    ['e0', 'payhash-0-1'],
  )
  await waitUntil('the position is at the end', async () => (await loadPosition(world)) === last.position)
  assert.deepEqual(one.published, [])
})

test('lost facts that could not be parked are not handled, and are found again when the later fact is redelivered', async () => {
  const world = await createMemoryPlatform()
  const one = await replica(world, [], { broken: new Set(['0']) })
  await appendFirstFacts(world, 1)
  const last = (await appendMoreFacts(world, 'payhash-0', 2)).at(-1)
  assert.ok(last)
  await one.hand(last, false)
  // The stop saves the handled positions.
  await one.die()
  assert.equal(await loadPosition(world), 'start')
  const redelivered = await one.hand(last, false)
  assert.ok(typeof redelivered === 'object')
  assert.equal(redelivered.lostBefore?.length, 2)
})
