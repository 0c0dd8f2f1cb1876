import assert from 'node:assert/strict'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { expect, test } from 'vitest'
import { CHAIN_START, seal } from './event-codec.ts'
import { factToBus } from './messages.ts'
import { publishAgain, republisher } from './republish.ts'

/** A fact in the log of settlement, and a bus that notes what is published where. */
async function owner(mayLose = true) {
  const { platform, store } = await memoryWorld()
  const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: 'o' } }
  const meta = { command: 'c', at: 0, correlation: 'o', trace: 't' }
  for (const stream of ['payhash-x', 'outpoint-y'])
    await store.append(stream, 'none', seal({ stream, revision: 0, chain: CHAIN_START }, [{ id: stream, fact, meta }]).events)
  const published: (readonly [string, BusMessage])[] = []
  const bus: Bus = {
    ...platform.bus,
    ...(mayLose && { mayLose }),
    publish: async (topic, messages) => void published.push(...messages.map((message) => [topic, message] as const)),
  }
  const warned: object[] = []
  const log = { ...platform.log, warn: (fields: object) => void warned.push(fields) }
  const answer = republisher({ service: 'settlement', categories: ['payhash'], store, bus, log })
  const events = await store.readAll('start', 9)
  return { bus, events, published, warned, answer, of: (stream: string) => events.filter((one) => one.stream === stream) }
}

test('a consumer asks the owner, who publishes its fact as it is stored', async () => {
  const { bus, published, answer, of } = await owner()
  const own = of('payhash-x')
  await publishAgain(bus, 'settlement', own)
  const [[topic, request] = []] = published.splice(0)
  assert.equal(topic, 'settlement.republish')
  assert.ok(request)
  assert.equal(await answer(request), 'done')
  assert.deepEqual(
    published,
    own.map((event) => ['settlement.events', factToBus(event)]),
  )
})

test('a request carries nothing that the owner would publish unseen', async () => {
  const { bus, published, answer, of } = await owner()
  const forged = of('payhash-x').map((event) => ({ ...event, id: 'forged', type: 'Forged', data: '{"forged":1}' }))
  await publishAgain(bus, 'settlement', forged)
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
  ['that is not there', { stream: 'payhash-x', revision: '1' }],
  ['of no stream', { stream: 'payhash', revision: '0' }],
  ['of no revision', { stream: 'payhash-x', revision: '-1' }],
  ['of an endless revision', { stream: 'payhash-x', revision: '9'.repeat(40) }],
  ['of no kind', { kind: 'fact', stream: 'payhash-x', revision: '0' }],
  ['without words', { stream: '', revision: '' }],
])('a request for a fact %s is said and dropped', async (_, headers) => {
  const { published, warned, answer } = await owner()
  assert.equal(await answer({ id: 'a', key: 'x', headers: { kind: 'republish', ...headers }, body: '{}' }), 'done')
  assert.deepEqual([published.length, warned.length], [0, 1])
})

test('a store that does not answer keeps the request', async () => {
  const { bus } = await owner()
  const { platform } = await memoryWorld()
  const store = { read: () => Promise.reject(new Error('the store is away')) }
  const answer = republisher({ service: 'settlement', categories: ['payhash'], store, bus, log: platform.log })
  const asked = answer({ id: 'a', key: 'x', headers: { kind: 'republish', stream: 'payhash-x', revision: '0' }, body: '{}' })
  await expect(asked).rejects.toThrow('the store is away')
})

test('on a bus that loses nothing it is published at once', async () => {
  const { bus, published, of } = await owner(false)
  await publishAgain(bus, 'settlement', of('payhash-x'))
  assert.deepEqual(
    published,
    of('payhash-x').map((event) => ['settlement.events', factToBus(event)]),
  )
})
