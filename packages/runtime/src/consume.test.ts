import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/all.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consume.ts'
import { CHAIN_START, seal } from './event-codec.ts'
import { eventTopic, factToBus } from './messages.ts'
import { republisher } from './republish.ts'
import { newerTries } from './metrics.ts'

type World = Pick<Awaited<ReturnType<typeof memoryWorld>>, 'platform' | 'store'>

const ORDER = '00000000-0000-4000-8000-000000000001'

/** A stream of some claims as a handler would have stored them. */
async function stored(world: World, events: number): Promise<readonly StoredEvent[]> {
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
  let chain = CHAIN_START
  for (let n = 0; n < events; n++) {
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const sealed = seal({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await world.store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return world.store.read('payhash-x')
}

/** A consumer that remembers what it was handed, and drops what it has seen as real ones do. */
async function listen(world: World) {
  const stop = new AbortController()
  const seen: number[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    seen: () => Promise.resolve(seen.at(-1)),
    apply: ({ revision }: { revision: number }) => {
      if (revision > (seen.at(-1) ?? -1)) seen.push(revision)
      return Promise.resolve()
    },
  }
  const running = await consume({ ...world.platform, basics: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  return seen
}

test('at start everything that the store has is read, then the bus goes on', async () => {
  const world = await memoryWorld()
  await stored(world, 3)
  assert.deepEqual(await listen(world), [0, 1, 2])
})

test('a jump in the revisions is filled from the store, repeats are dropped', async () => {
  const world = await memoryWorld()
  const seen = await listen(world)
  const events = await stored(world, 4)
  const [first, , , last] = events.map(factToBus)
  assert.ok(first && last)
  await world.platform.bus.publish(eventTopic('settlement'), [first, last, first])
  await until('the last was handed over', () => seen.includes(3))
  assert.deepEqual(seen, [0, 1, 2, 3])
  assert.deepEqual(await world.platform.bus.parked(), [])
})

test('a jump over what the stream itself does not have is parked and shows', async () => {
  const world = await memoryWorld()
  const seen = await listen(world)
  const [first] = (await stored(world, 1)).map(factToBus)
  assert.ok(first)
  const invented = { ...first, id: 'e7', headers: { ...first.headers, revision: '7' } }
  await world.platform.bus.publish(eventTopic('settlement'), [first, invented])
  await until('it is parked', async () => (await world.platform.bus.parked()).length === 1)
  assert.deepEqual(seen, [0])
  assert.match((await world.platform.bus.parked())[0]?.reason ?? '', /jumps from revision 0 to 7/)
})

test('progress waits for what failed, whatever came after it', async () => {
  const world = await memoryWorld()
  const stop = new AbortController()
  const failed: string[] = []
  const applied: string[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    seen: () => Promise.resolve(undefined),
    apply: ({ id, aggregateId }: { id: string; aggregateId: string }) => {
      const isBroken = aggregateId === 'x'
      const told = isBroken ? failed : applied
      told.push(id)
      return isBroken ? Promise.reject(new Fault('away')) : Promise.resolve()
    },
  }
  const running = await consume({ ...world.platform, basics: world.platform }, consumer, stop.signal)
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  const later = { ...fact, id: 'later', stream: 'payhash-y', position: fact.position + 1n }
  await world.platform.bus.publish(eventTopic('settlement'), [fact, later].map(factToBus))
  await until('one failed and one was handled', () => failed.length > 0 && applied.length > 0)
  stop.abort()
  await running.close()
  const { position } = await world.platform.progress.load('listener@settlement')
  assert.ok(position === 'start' || position < fact.position)
})

/** As a newer version would have written it: a later version of a fact, or one that nobody here knows. */
const newer = (event: StoredEvent, isUnknown: boolean): StoredEvent =>
  isUnknown ? { ...event, type: 'PayhashSold' } : { ...event, meta: event.meta.replace('{"v":1,', '{"v":9,') }

test.each([true, false])(
  'what a newer version wrote waits with its key alone, and is never parked: unknown type %s',
  async (unknown) => {
    const world = await memoryWorld()
    const seen = await listen(world)
    const [fact] = await stored(world, 1)
    assert.ok(fact)
    const first = { ...newer(fact, unknown), id: 'newer', stream: 'payhash-y', revision: 0 }
    const behind = { ...fact, id: 'behind', stream: 'payhash-y', revision: 0 }
    await world.platform.bus.publish(eventTopic('settlement'), [first, behind, fact].map(factToBus))
    await until('the other key is handled, and this one was tried', async () => {
      const { values } = await newerTries.get()
      return seen.length === 1 && values.some(({ labels, value }) => labels.consumer === 'listener' && value > 2)
    })
    assert.deepEqual(seen, [0])
    assert.deepEqual(await world.platform.bus.parked(), [])
  },
)

test('at start what a newer version wrote holds up nobody else', async () => {
  const world = await memoryWorld()
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  await world.store.append('payhash-y', 'none', [{ ...newer(fact, false), id: 'newer' }])
  const seen = await listen(world)
  assert.deepEqual(seen, [0])
  assert.deepEqual(await world.platform.bus.parked(), [])
})

test('at start what waits on a bus that may lose it is not taken for done, and a newer version finds it without the bus', async () => {
  const { platform, store } = await memoryWorld()
  const known = contractOf('payhash')
  const shape = known.facts['PayhashClaimed']
  const [fact] = await stored({ platform, store }, 1)
  assert.ok(fact && shape)
  await store.append('payhash-y', 'none', [{ ...newer(fact, false), id: 'newer' }])
  await store.append('payhash-z', 'none', [{ ...fact, id: 'later' }])
  const start = async (bus: Bus, contract: Contract) => {
    const stop = new AbortController()
    const applied: string[] = []
    const consumer = {
      name: 'listener',
      owner: 'settlement',
      contracts: [contract],
      seen: () => Promise.resolve(undefined),
      apply: async ({ id }: { id: string }) => void applied.push(id),
    }
    const lossy = { ...platform, bus: { ...bus, mayLose: true as const } }
    const running = await consume({ ...lossy, basics: lossy }, consumer, stop.signal)
    const behind = await running.behind()
    stop.abort()
    await running.close()
    return { applied, waiting: behind.facts }
  }
  assert.deepEqual(await start(platform.bus, known), { applied: ['e0', 'later'], waiting: 1 })
  const upcast = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [index + 1, (old: object) => old]))
  const next = { ...known, facts: { PayhashClaimed: { ...shape, v: 9, upcast } } }
  const { applied, waiting } = await start((await memoryWorld()).platform.bus, next)
  assert.deepEqual({ applied, waiting }, { applied: ['newer'], waiting: 0 })
})

test('a bus that does not answer yet is waited for', async () => {
  const world = await memoryWorld()
  const { bus } = world.platform
  let asked = 0
  const subscribe = (wanted: Parameters<typeof bus.subscribe>[0]) =>
    ++asked < 3 ? Promise.reject(new Fault('no broker answers')) : bus.subscribe(wanted)
  const seen = await listen({ ...world, platform: { ...world.platform, bus: { ...bus, subscribe } } })
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  await bus.publish(eventTopic('settlement'), [factToBus(fact)])
  await until('it is handled', () => seen.length === 1)
  assert.equal(asked, 3)
})

test.each([false, true])('a start leaves a parked key to the bus: mayLose %s', async (mayLose) => {
  const world = await memoryWorld()
  const bus = { ...world.platform.bus, ...(mayLose && { mayLose: true as const }) }
  const platform = { ...world.platform, bus }
  const handle = republisher({ ...platform, service: 'settlement', categories: ['payhash'] })
  const owner = await bus.subscribe({ group: 'settlement', topic: 'settlement.republish', handle })
  onTestFinished(() => owner.close())
  const reacted: number[] = []
  /** As a reactor, which does not know after a restart what it has seen. */
  const start = async (isBroken: boolean) => {
    const stop = new AbortController()
    const consumer = {
      name: 'listener',
      owner: 'settlement',
      contracts: [contractOf('payhash')],
      seen: () => Promise.resolve(undefined),
      async apply({ revision }: { revision: number }) {
        if (isBroken && revision === 1) throw new Error('the code is wrong')
        reacted.push(revision)
      },
    }
    const running = await consume({ ...platform, basics: platform }, consumer, stop.signal)
    const end = async () => {
      stop.abort()
      await running.close()
    }
    onTestFinished(end)
    return end
  }
  const events = await stored(world, 4)
  const end = await start(true)
  const [parked] = await untilParked(bus, 3)
  assert.ok(parked)
  await end()
  await world.platform.progress.reset('listener@settlement')
  await world.platform.progress.settle('listener@settlement', events[1]?.position ?? 0n)
  await start(false)
  assert.deepEqual(reacted, [0])
  await bus.replay(parked)
  await until('all were handed over', async () => (await bus.parked()).length === 0)
  assert.deepEqual([...new Set(reacted)], [0, 1, 2, 3])
})

async function untilParked(bus: Bus, messages: number) {
  await until('they are parked', async () => (await bus.parked())[0]?.messages === messages)
  return bus.parked()
}
