import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage, Handled } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consume.ts'
import type { Consumer } from './consumer.ts'
import { CHAIN_START, metaOf, seal } from './event-codec.ts'
import { eventTopic, factToBus } from './messages.ts'

const ORDER = '00000000-0000-4000-8000-000000000001'
const payhash = contractOf('payhash')
const KEY = 'reader@settlement'
const quick = { saveEveryMs: 5, settleEveryMs: 0, lookEveryMs: 0, lostAfterMs: 3_600_000 }
type World = Awaited<ReturnType<typeof memoryWorld>>

/** One fact in each of so many streams. */
async function stored(world: World, count: number): Promise<readonly StoredEvent[]> {
  for (let n = 0; n < count; n++) {
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const { events } = seal({ stream: `payhash-${n}`, revision: 0, chain: CHAIN_START }, [{ id: `e${n}`, fact, meta }])
    await world.store.append(`payhash-${n}`, 'none', events)
  }
  return world.store.readAll('start', count)
}

/** A bus of one replica that is handed what the test hands it; all else was lost, or is another replica's. */
function ownBus(world: World, published: BusMessage[] = []) {
  let handle: ((message: BusMessage) => Promise<Handled>) | undefined
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
  /** Keeps what is to be parked, unless it cannot. */
  async function hand(event: StoredEvent, canKeep = true): Promise<Handled | undefined> {
    const handled = await handle?.(factToBus(event))
    if (canKeep && typeof handled === 'object') handled.kept?.()
    return handled
  }
  return { bus, published, hand }
}

/** Further facts of a stream that has one. */
async function grown(world: World, stream: string, count: number): Promise<readonly StoredEvent[]> {
  for (let n = 1; n <= count; n++) {
    const [before] = (await world.store.read(stream)).slice(-1)
    assert.ok(before)
    const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
    const meta = { command: `g${n}`, at: n, correlation: ORDER, trace: 't' }
    const place = { stream, revision: before.revision + 1, chain: metaOf(before).chain }
    await world.store.append(stream, before.revision, seal(place, [{ id: `${stream}-${n}`, fact, meta }]).events)
  }
  return world.store.read(stream)
}

function reader(seen: string[], broken: ReadonlySet<string> = new Set()): Consumer {
  return {
    name: 'reader',
    owner: 'settlement',
    contracts: [payhash],
    seen: () => Promise.resolve(undefined),
    async apply({ aggregateId }) {
      if (broken.has(aggregateId)) throw new Error('the code is wrong')
      seen.push(aggregateId)
    },
  }
}

async function replica(world: World, seen: string[], options: { times?: typeof quick; broken?: ReadonlySet<string> } = {}) {
  const own = ownBus(world)
  const stop = new AbortController()
  const context = { ...world.platform, bus: own.bus, basics: world.platform, times: options.times ?? quick }
  const running = await consume(context, reader(seen, options.broken), stop.signal)
  const die = async (): Promise<void> => {
    stop.abort()
    await running.close()
  }
  onTestFinished(die)
  return { ...own, die }
}

const settledAt = async (world: World) => (await world.platform.progress.load(KEY)).position

test('what another replica has not done is read from the store after all messages were lost', async () => {
  const world = await memoryWorld()
  const first: string[] = []
  const one = await replica(world, first)
  const events = await stored(world, 4)
  const [a, b, c, d] = events
  assert.ok(a && b && c && d)
  // The second fact is in a partition of a replica that dies.
  for (const event of [a, c, d]) await one.hand(event)
  await until('the position stands before the second', async () => (await settledAt(world)) === a.position)
  await one.die()
  const second: string[] = []
  await replica(world, second)
  assert.deepEqual(second, ['1'])
  assert.equal(await settledAt(world), d.position)
})

test('replicas move the position together over what each of them did, and the notes below go', async () => {
  const world = await memoryWorld()
  const [one, two] = [await replica(world, []), await replica(world, [])]
  const events = await stored(world, 6)
  for (const [index, event] of events.entries()) await (index % 2 === 0 ? one : two).hand(event)
  const last = events.at(-1)?.position ?? 0n
  await until('the position is at the end', async () => (await settledAt(world)) === last)
  await until('no note is left', async () => (await world.platform.progress.noted(KEY, 'start', last)).length === 0)
})

test('a parked fact does not hold the position', async () => {
  const world = await memoryWorld()
  const one = await replica(world, [], { broken: new Set(['1']) })
  const events = await stored(world, 3)
  for (const event of events) await one.hand(event)
  await until('the position is at the end', async () => (await settledAt(world)) === events.at(-1)?.position)
})

test('a fact that does not arrive is published again, and those behind it that are done are not', async () => {
  const world = await memoryWorld()
  const one = await replica(world, [], { times: { ...quick, lostAfterMs: 30 } })
  const events = await stored(world, 4)
  for (const event of events.slice(2, 3)) await one.hand(event)
  await until('the others are published', () => one.published.length >= 3)
  assert.deepEqual(
    one.published.slice(0, 3).map(({ key }) => key),
    ['0', '1', '3'],
  )
})

/** The first of two streams is parked with three facts behind its first one; the other is handled. */
async function parkedFirst(mayLose: boolean) {
  const world = await memoryWorld()
  const stop = new AbortController()
  const bus: Bus = { ...world.platform.bus, ...(mayLose && { mayLose }) }
  const seen: string[] = []
  const context = { ...world.platform, bus, basics: world.platform, times: quick }
  const running = await consume(context, reader(seen, new Set(['0'])), stop.signal)
  const close = async (): Promise<void> => {
    stop.abort()
    await running.close()
  }
  onTestFinished(close)
  await stored(world, 2)
  await grown(world, 'payhash-0', 3)
  const events = await world.store.readAll('start', 10)
  await bus.publish(eventTopic('settlement'), events.map(factToBus))
  await until('all have arrived', async () => seen.length === 1 && (await bus.parked())[0]?.messages === 4)
  assert.deepEqual(seen, ['1'])
  return { world, events, last: events.at(-1)?.position ?? 0n, close }
}

test.each([true, false])('what waits behind a parked fact counts as done: mayLose %s', async (mayLose) => {
  const { world, events, last, close } = await parkedFirst(mayLose)
  await close()
  const settled = await settledAt(world)
  const noted = await world.platform.progress.noted(KEY, 'start', last)
  const open = events.filter(({ position }) => (settled === 'start' || position > settled) && !noted.includes(position))
  assert.deepEqual(
    open.map(({ stream, revision }) => `${stream} ${revision}`),
    [],
  )
})

test.each([true, false])(
  'facts behind a parked one do not hold the position either, nor leave a note: mayLose %s',
  async (mayLose) => {
    const { world, last } = await parkedFirst(mayLose)
    await until('the position is at the end', async () => (await settledAt(world)) === last)
    await until('no note is left', async () => (await world.platform.progress.noted(KEY, 'start', last)).length === 0)
  },
)

test('what is in hand here is not published again, nor what waits behind it', async () => {
  const world = await memoryWorld()
  const own = ownBus(world)
  const stop = new AbortController()
  const consumer = { ...reader([]), apply: () => Promise.reject(new Fault('a newer version wrote it')) }
  const times = { ...quick, lostAfterMs: 100 }
  const context = { ...world.platform, bus: own.bus, basics: world.platform, times }
  const running = await consume(context, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  const [waiting] = await stored(world, 2)
  assert.ok(waiting)
  await grown(world, 'payhash-0', 2)
  await until('the lost one is published again, twice', async () => {
    await assert.rejects(async () => own.hand(waiting))
    return own.published.length > 1
  })
  assert.deepEqual([...new Set(own.published.map(({ key }) => key))], ['1'])
})

test('a fact whose predecessors this process does not know comes after those that nobody has done', async () => {
  const world = await memoryWorld()
  const own = ownBus(world)
  const stop = new AbortController()
  const revisions: number[] = []
  const consumer: Consumer = { ...reader([]), apply: async ({ revision }) => void revisions.push(revision) }
  const context = { ...world.platform, bus: own.bus, basics: world.platform, times: quick }
  const running = await consume(context, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  await stored(world, 1)
  const [done, settled, ...others] = await grown(world, 'payhash-0', 5)
  assert.ok(done && settled)
  await world.platform.progress.settle(KEY, done.position)
  await world.platform.progress.note(KEY, [others[0]?.position ?? 0n])
  const last = others.at(-1)
  assert.ok(last)
  await own.hand(last)
  assert.deepEqual(revisions, [1, 3, 4, 5])
  await until('the position is at the end', async () => (await settledAt(world)) === last.position)
})

test('a lost fact that cannot be handled is kept before the one that showed it, and holds the position no more', async () => {
  const world = await memoryWorld()
  const one = await replica(world, [], { broken: new Set(['0']) })
  await stored(world, 1)
  const last = (await grown(world, 'payhash-0', 2)).at(-1)
  assert.ok(last)
  const handled = await one.hand(last)
  assert.ok(typeof handled === 'object')
  assert.deepEqual(
    handled.lost?.map(({ id }) => id),
    ['e0', 'payhash-0-1'],
  )
  await until('the position is at the end', async () => (await settledAt(world)) === last.position)
  assert.deepEqual(one.published, [])
})

test('what could not be kept is not done: a lost fact is found again when the one that showed it comes again', async () => {
  const world = await memoryWorld()
  const one = await replica(world, [], { broken: new Set(['0']) })
  await stored(world, 1)
  const last = (await grown(world, 'payhash-0', 2)).at(-1)
  assert.ok(last)
  await one.hand(last, false)
  // It writes down what was done.
  await one.die()
  assert.equal(await settledAt(world), 'start')
  const again = await one.hand(last, false)
  assert.ok(typeof again === 'object')
  assert.equal(again.lost?.length, 2)
})
