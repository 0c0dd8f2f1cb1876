import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { onTestFinished, test } from 'vitest'
import { consume, type Consumer } from './consume.ts'
import { CHAIN_START, seal } from './event-codec.ts'
import { factToBus } from './messages.ts'

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
  let handle: ((message: BusMessage) => Promise<unknown>) | undefined
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
  return { bus, published, hand: async (event: StoredEvent) => handle?.(factToBus(event)) }
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
  assert.deepEqual(second, ['1', '2', '3'])
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
