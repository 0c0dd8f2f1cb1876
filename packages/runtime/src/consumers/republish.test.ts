import assert from 'node:assert/strict'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { expect, test } from 'vitest'
import { CHAIN_START, sealFacts } from '../commands/event-codec.ts'
import { factToBus } from '../commands/messages.ts'
import { republishFacts, createRepublisher } from './republish.ts'

/** Creates a store with a fact of settlement and a fact of another service, and a bus that records the published messages. */
async function owner(mayLose = true) {
  const { platform, store } = await createMemoryPlatform()
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
  const meta = { command: 'c', at: 0, correlation: 'o', trace: 't' }
  for (const stream of ['payhash-x', 'outpoint-y'])
    await store.append(
      stream,
      'none',
      sealFacts({ stream, revision: 0, chain: CHAIN_START }, [{ id: stream, fact, meta }]).events,
    )
  const published: (readonly [string, BusMessage])[] = []
  const bus: Bus = {
    ...platform.bus,
    ...(mayLose && { mayLose }),
    publish: async (topic, messages) => void published.push(...messages.map((message) => [topic, message] as const)),
  }
  const warned: object[] = []
  const log = { ...platform.log, warn: (fields: object) => void warned.push(fields) }
  const answer = createRepublisher({ service: 'settlement', categories: ['payhash'], store, bus, log })
  const events = await store.readAll('start', 9)
  return { bus, events, published, warned, answer, of: (stream: string) => events.filter((one) => one.stream === stream) }
}

test('the owner publishes its stored fact when a consumer requests it', async () => {
  const { bus, published, answer, of } = await owner()
  const own = of('payhash-x')
  await republishFacts(bus, 'settlement', own)
  const [[topic, request] = []] = published.splice(0)
  assert.equal(topic, 'settlement.republish')
  assert.ok(request)
  assert.equal(await answer(request), 'done')
  assert.deepEqual(
    published,
    own.map((event) => ['settlement.events', factToBus(event)]),
  )
})

test('the owner publishes only stored data, whatever a request contains', async () => {
  const { bus, published, answer, of } = await owner()
  const forged = of('payhash-x').map((event) => ({ ...event, id: 'forged', type: 'Forged', data: '{"forged":1}' }))
  await republishFacts(bus, 'settlement', forged)
  const [[, request] = []] = published.splice(0)
  assert.ok(request)
  await answer(request)
  assert.deepEqual(
    published,
    of('payhash-x').map((event) => ['settlement.events', factToBus(event)]),
  )
})

test.each([
  ['of another service', { stream: 'outpoint-y', revision: '0' }],
  ['that does not exist', { stream: 'payhash-x', revision: '1' }],
  ['of no stream', { stream: 'payhash', revision: '0' }],
  ['of no revision', { stream: 'payhash-x', revision: '-1' }],
  ['of a revision that is too large', { stream: 'payhash-x', revision: '9'.repeat(40) }],
  ['by a message of another kind', { kind: 'fact', stream: 'payhash-x', revision: '0' }],
  ['without a stream', { stream: '', revision: '' }],
])('a request for a fact %s is logged and dropped', async (_, headers) => {
  const { published, warned, answer } = await owner()
  assert.equal(await answer({ id: 'a', key: 'x', headers: { kind: 'republish', ...headers }, body: '{}' }), 'done')
  assert.deepEqual([published.length, warned.length], [0, 1])
})

test('a request fails, and is not dropped, while the store does not answer', async () => {
  const { bus } = await owner()
  const { platform } = await createMemoryPlatform()
  const store = { read: () => Promise.reject(new Error('the store is away')) }
  const answer = createRepublisher({ service: 'settlement', categories: ['payhash'], store, bus, log: platform.log })
  const request = answer({ id: 'a', key: 'x', headers: { kind: 'republish', stream: 'payhash-x', revision: '0' }, body: '{}' })
  await expect(request).rejects.toThrow('the store is away')
})

test('on a bus that loses no messages a fact is published without a request', async () => {
  const { bus, published, of } = await owner(false)
  await republishFacts(bus, 'settlement', of('payhash-x'))
  assert.deepEqual(
    published,
    of('payhash-x').map((event) => ['settlement.events', factToBus(event)]),
  )
})
