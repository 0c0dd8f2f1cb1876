import { Bug, Fault } from '@penstock/kernel/result.ts'
import { status } from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { failure } from './double/messages.ts'
import { answered, aPair, aStore, event, events } from './stores.ts'

it('a server that says nothing is a fault in time, and is asked again', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(3))
  server.faults.silent.add('read')
  await expect(store.read('order-1')).rejects.toThrow(Fault)
  await expect(store.readAll('start', 10)).rejects.toThrow(Fault)
  server.faults.silent.clear()
  expect(await answered(() => store.read('order-1'))).toHaveLength(3)
  expect(await answered(() => store.readAll('start', 10, ['order']))).toHaveLength(3)
})

it('a server that comes back, however long it was away, is read from again', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(3))
  expect(await store.read('order-1')).toHaveLength(3)
  server.stop()
  for (let tries = 0; tries < 5; tries++) await expect(store.read('order-1')).rejects.toThrow(Fault)
  await server.start()
  expect(await answered(() => store.read('order-1'))).toHaveLength(3)
  server.faults.refuse = failure(status.UNAVAILABLE, 'Server Is Not Ready')
  await expect(store.read('order-1')).rejects.toThrow(Fault)
  await expect(store.append('order-1', 2, events(1))).rejects.toThrow(Fault)
  server.faults.refuse = undefined
  expect(await answered(() => store.append('order-1', 2, events(1)))).toMatchObject({ outcome: 'appended' })
})

it('a cluster of which no node is there ends nobody, and is found when it comes back', async () => {
  const { server } = await aPair()
  const { host, port } = server.endpoint
  const store = aStore(`kurrentdb://${host}:${port},127.0.0.1:1?tls=false&discoveryInterval=10&maxDiscoverAttempts=3`)
  const stop = new AbortController()
  const followers = ['order', 'hold'].map((category) =>
    store
      .follow({ categories: [category], after: 'start', signal: stop.signal })
      [Symbol.asyncIterator]()
      .next(),
  )
  await answered(() => store.append('order-1', 'none', events(3)))
  server.stop()
  for (let tries = 0; tries < 3; tries++) {
    const calls = Array.from({ length: 5 }, (_, n) => store.append(`payout-${n}`, 'none', [event()]))
    expect((await Promise.allSettled(calls)).map((call) => call.status)).not.toContain('fulfilled')
  }
  await server.start()
  expect(await answered(() => store.append('hold-1', 'none', [event()]))).toMatchObject({ outcome: 'appended' })
  expect((await Promise.all(followers)).map(({ done }) => done)).toEqual([false, false])
  stop.abort()
})

it('what the server writes itself, links and tombstones are not seen', async () => {
  const { server, store } = await aPair()
  const seen = []
  for (let n = 0; n < 12; n++) {
    await store.append(`order-${n}`, 'none', events(1))
    seen.push(...(await store.read(`order-${n}`)))
    if (n === 6) server.log.system('order-gone', '$streamDeleted')
  }
  expect(server.log.all().length).toBeGreaterThan(seen.length)
  expect(await store.readAll('start', 100)).toEqual(seen)
  expect(await store.readAll('start', 100, ['order'])).toEqual(seen)
})

it('more than a page is read whole, of a stream and of the log', async () => {
  const { store } = await aPair()
  await store.append('order-1', 'none', events(700))
  await store.append('order-1', 699, events(500))
  expect((await store.read('order-1')).map(({ revision }) => revision)).toEqual(Array.from({ length: 1200 }, (_, n) => n))
  expect(await store.read('order-1', 650, 520)).toHaveLength(520)
  expect(await store.readAll('start', 1100)).toHaveLength(1100)
  expect(await store.readAll('start', 10, [])).toEqual([])
})

it('a position that was never given out is a bug', async () => {
  const { store } = await aPair()
  await store.append('order-1', 'none', events(2))
  const [, second] = await store.readAll('start', 2)
  expect(await store.readAll(second?.position ?? 0n, 9)).toEqual([])
  await expect(store.readAll((second?.position ?? 0n) - 1n, 9)).rejects.toThrow(Bug)
})

it('an event that somebody else wrote into our streams is a bug', async () => {
  const { server, store } = await aPair()
  const foreign = { ...event(), contentType: 'application/json', data: Buffer.from('{}'), metadata: Buffer.from('{}') }
  server.log.append('order-1', undefined, [foreign])
  await expect(store.read('order-1')).rejects.toThrow(Bug)
  await expect(store.readAll('start', 10)).rejects.toThrow(Bug)
})
