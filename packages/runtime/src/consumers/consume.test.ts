import assert from 'node:assert/strict'
import { contractOf } from '@penstock/contracts/contracts.ts'
import type { Contract } from '@penstock/contracts/define.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { onTestFinished, test } from 'vitest'
import { consume } from './consume.ts'
import { CHAIN_START, sealFacts } from '../commands/event-codec.ts'
import { eventTopic, factToBus, outcomeToBus } from '../commands/messages.ts'
import { createRepublisher } from './republish.ts'
import { newerMessageTries } from '../observability/metrics.ts'

type World = Pick<Awaited<ReturnType<typeof createMemoryPlatform>>, 'platform' | 'store'>

const ORDER = '00000000-0000-4000-8000-000000000001'

/** Appends claims to a stream, in the form that the command handler writes. */
async function stored(world: World, events: number): Promise<readonly StoredEvent[]> {
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
  let chain = CHAIN_START
  for (let n = 0; n < events; n++) {
    const meta = { command: `c${n}`, at: n, correlation: ORDER, trace: 't' }
    const sealed = sealFacts({ stream: 'payhash-x', revision: n, chain }, [{ id: `e${n}`, fact, meta }])
    chain = sealed.chain
    await world.store.append('payhash-x', n === 0 ? 'none' : n - 1, sealed.events)
  }
  return world.store.read('payhash-x')
}

/** Starts a consumer that records the revisions of its facts, and drops repeated facts. */
async function listen(world: World) {
  const stop = new AbortController()
  const seen: number[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    lastRevision: () => Promise.resolve(seen.at(-1)),
    apply: ({ revision }: { revision: number }) => {
      if (revision > (seen.at(-1) ?? -1)) seen.push(revision)
      return Promise.resolve()
    },
  }
  const running = await consume({ ...world.platform, basePorts: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  return seen
}

test('a starting consumer reads all facts of the store', async () => {
  const world = await createMemoryPlatform()
  await stored(world, 3)
  assert.deepEqual(await listen(world), [0, 1, 2])
})

test('a gap in the revisions is filled from the store, and repeated facts are dropped', async () => {
  const world = await createMemoryPlatform()
  const seen = await listen(world)
  const events = await stored(world, 4)
  const [first, , , last] = events.map(factToBus)
  assert.ok(first && last)
  await world.platform.bus.publish(eventTopic('settlement'), [first, last, first])
  await waitUntil('the last fact is handled', () => seen.includes(3))
  assert.deepEqual(seen, [0, 1, 2, 3])
  assert.deepEqual(await world.platform.bus.parked(), [])
})

test('a repeated command is answered after the facts of its first delivery, also if they were not published', async () => {
  const world = await createMemoryPlatform()
  const seen: (number | string)[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    lastRevision: () => Promise.resolve(seen.length - 1),
    apply: ({ revision }: { revision: number }) => Promise.resolve(void seen.push(revision)),
    outcome: ({ commandId }: { commandId: string }) => Promise.resolve(void seen.push(commandId)),
  }
  const stop = new AbortController()
  const running = await consume({ ...world.platform, basePorts: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  await stored(world, 2)
  const answer = { aggregateId: 'x', revision: 1, refused: null, at: 1 }
  const other = outcomeToBus({ ...answer, commandId: 'of another consumer', category: 'settlement' })
  await world.platform.bus.publish(eventTopic('settlement'), [
    other,
    outcomeToBus({ ...answer, commandId: 'answer', category: 'payhash' }),
  ])
  await waitUntil('the command is answered', () => seen.includes('answer'))
  assert.deepEqual(seen, [0, 1, 'answer'])
})

test('a fact after a gap that the store cannot fill is parked with the reason', async () => {
  const world = await createMemoryPlatform()
  const seen = await listen(world)
  const [first] = (await stored(world, 1)).map(factToBus)
  assert.ok(first)
  const invented = { ...first, id: 'e7', headers: { ...first.headers, revision: '7' } }
  await world.platform.bus.publish(eventTopic('settlement'), [first, invented])
  await waitUntil('the fact is parked', async () => (await world.platform.bus.parked()).length === 1)
  assert.deepEqual(seen, [0])
  assert.match((await world.platform.bus.parked())[0]?.reason ?? '', /jumps from revision 0 to 7/)
})

test('no gap is searched before a fact of a category that the consumer does not follow', async () => {
  const world = await createMemoryPlatform()
  const stop = new AbortController()
  const applied: string[] = []
  const searched: string[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    lastRevision: async (stream: string) => void searched.push(stream),
    apply: async ({ id }: { id: string }) => void applied.push(id),
  }
  const running = await consume({ ...world.platform, basePorts: world.platform }, consumer, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running.close()
  })
  const [, followed] = await stored(world, 2)
  assert.ok(followed)
  const ofOther = { ...followed, id: 'other', stream: 'settlement-x' }
  await world.platform.bus.publish(eventTopic('settlement'), [ofOther, followed].map(factToBus))
  await waitUntil('the followed fact is handled', () => applied.includes(followed.id))
  assert.deepEqual(searched, ['payhash-x'])
})

test('the position stays before a failed fact, even if a later fact is handled', async () => {
  const world = await createMemoryPlatform()
  const stop = new AbortController()
  const failed: string[] = []
  const applied: string[] = []
  const consumer = {
    name: 'listener',
    owner: 'settlement',
    contracts: [contractOf('payhash')],
    lastRevision: () => Promise.resolve(undefined),
    apply: ({ id, aggregateId }: { id: string; aggregateId: string }) => {
      const isBroken = aggregateId === 'x'
      const ids = isBroken ? failed : applied
      ids.push(id)
      return isBroken ? Promise.reject(new Fault('away')) : Promise.resolve()
    },
  }
  const running = await consume({ ...world.platform, basePorts: world.platform }, consumer, stop.signal)
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  const later = { ...fact, id: 'later', stream: 'payhash-y', position: fact.position + 1n }
  await world.platform.bus.publish(eventTopic('settlement'), [fact, later].map(factToBus))
  await waitUntil('one failed and one was handled', () => failed.length > 0 && applied.length > 0)
  stop.abort()
  await running.close()
  const { position } = await world.platform.progress.load('listener@settlement')
  assert.ok(position === 'start' || position < fact.position)
})

/** @returns the event as a newer version would write it: with an unknown type, or with a newer version of its type */
const newer = (event: StoredEvent, isUnknown: boolean): StoredEvent =>
  isUnknown ? { ...event, type: 'PayhashSold' } : { ...event, meta: event.meta.replace('{"v":1,', '{"v":9,') }

test.each([true, false])(
  'a fact of a newer version delays only its own key, and is never parked: unknown type %s',
  async (unknown) => {
    const world = await createMemoryPlatform()
    const seen = await listen(world)
    const [fact] = await stored(world, 1)
    assert.ok(fact)
    const first = { ...newer(fact, unknown), id: 'newer', stream: 'payhash-y', revision: 0 }
    const behind = { ...fact, id: 'behind', stream: 'payhash-y', revision: 0 }
    await world.platform.bus.publish(eventTopic('settlement'), [first, behind, fact].map(factToBus))
    await waitUntil('the other key is handled, and this one was tried', async () => {
      const { values } = await newerMessageTries.get()
      return seen.length === 1 && values.some(({ labels, value }) => labels.consumer === 'listener' && value > 2)
    })
    assert.deepEqual(seen, [0])
    assert.deepEqual(await world.platform.bus.parked(), [])
  },
)

test('at a start, a fact of a newer version does not delay other keys', async () => {
  const world = await createMemoryPlatform()
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  await world.store.append('payhash-y', 'none', [{ ...newer(fact, false), id: 'newer' }])
  const seen = await listen(world)
  assert.deepEqual(seen, [0])
  assert.deepEqual(await world.platform.bus.parked(), [])
})

test('at a start, a fact that waits on a lossy bus is not handled, and a newer version reads it from the store', async () => {
  const { platform, store } = await createMemoryPlatform()
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
      lastRevision: () => Promise.resolve(undefined),
      apply: async ({ id }: { id: string }) => void applied.push(id),
    }
    const lossy = { ...platform, bus: { ...bus, mayLose: true as const } }
    const running = await consume({ ...lossy, basePorts: lossy }, consumer, stop.signal)
    const behind = await running.readLag()
    stop.abort()
    await running.close()
    return { applied, waiting: behind.facts }
  }
  assert.deepEqual(await start(platform.bus, known), { applied: ['e0', 'later'], waiting: 1 })
  const upcast = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [index + 1, (old: object) => old]))
  const next = { ...known, facts: { PayhashClaimed: { ...shape, v: 9, upcast } } }
  const { applied, waiting } = await start((await createMemoryPlatform()).platform.bus, next)
  assert.deepEqual({ applied, waiting }, { applied: ['newer'], waiting: 0 })
})

test('a consumer waits for a bus that does not answer yet', async () => {
  const world = await createMemoryPlatform()
  const { bus } = world.platform
  let calls = 0
  const subscribe = (subscription: Parameters<typeof bus.subscribe>[0]) =>
    ++calls < 3 ? Promise.reject(new Fault('no broker answers')) : bus.subscribe(subscription)
  const seen = await listen({ ...world, platform: { ...world.platform, bus: { ...bus, subscribe } } })
  const [fact] = await stored(world, 1)
  assert.ok(fact)
  await bus.publish(eventTopic('settlement'), [factToBus(fact)])
  await waitUntil('the fact is handled', () => seen.length === 1)
  assert.equal(calls, 3)
})

test.each([false, true])('a start does not apply facts of a parked key: mayLose %s', async (mayLose) => {
  const world = await createMemoryPlatform()
  const bus = { ...world.platform.bus, ...(mayLose && { mayLose: true as const }) }
  const platform = { ...world.platform, bus }
  const handle = createRepublisher({ ...platform, service: 'settlement', categories: ['payhash'] })
  const owner = await bus.subscribe({ group: 'settlement', topic: 'settlement.republish', handle })
  onTestFinished(() => owner.close())
  const reacted: number[] = []
  /** Starts a consumer that, like a reactor, does not know its last revisions after a restart. */
  const start = async (isBroken: boolean) => {
    const stop = new AbortController()
    const consumer = {
      name: 'listener',
      owner: 'settlement',
      contracts: [contractOf('payhash')],
      lastRevision: () => Promise.resolve(undefined),
      async apply({ revision }: { revision: number }) {
        if (isBroken && revision === 1) throw new Error('the code is wrong')
        reacted.push(revision)
      },
    }
    const running = await consume({ ...platform, basePorts: platform }, consumer, stop.signal)
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
  await world.platform.progress.saveCheckpoint('listener@settlement', events[1]?.position ?? 0n)
  await start(false)
  assert.deepEqual(reacted, [0])
  await bus.replay(parked)
  await waitUntil('no key is parked', async () => (await bus.parked()).length === 0)
  assert.deepEqual([...new Set(reacted)], [0, 1, 2, 3])
})

async function untilParked(bus: Bus, messages: number) {
  await waitUntil('the messages are parked', async () => (await bus.parked())[0]?.messages === messages)
  return bus.parked()
}
