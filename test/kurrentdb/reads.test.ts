import { Bug, Fault } from '@penstock/kernel/result.ts'
import { status } from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { createServiceError } from './double/messages.ts'
import { retryUntilStoreAnswers, openServerAndStore, openKurrentStore, createNewEvent, createNewEvents } from './stores.ts'

it('a read from a silent server fails in time, and succeeds when the server answers', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(3))
  server.faults.silentCalls.add('read')
  await expect(store.read('order-1')).rejects.toThrow(Fault)
  await expect(store.readAll('start', 10)).rejects.toThrow(Fault)
  server.faults.silentCalls.clear()
  expect(await retryUntilStoreAnswers(() => store.read('order-1'))).toHaveLength(3)
  expect(await retryUntilStoreAnswers(() => store.readAll('start', 10, ['order']))).toHaveLength(3)
})

it('reads succeed after the server was down during several tries', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(3))
  expect(await store.read('order-1')).toHaveLength(3)
  server.stop()
  for (let tries = 0; tries < 5; tries++) await expect(store.read('order-1')).rejects.toThrow(Fault)
  await server.start()
  expect(await retryUntilStoreAnswers(() => store.read('order-1'))).toHaveLength(3)
  server.faults.refuse = createServiceError(status.UNAVAILABLE, 'Server Is Not Ready')
  await expect(store.read('order-1')).rejects.toThrow(Fault)
  await expect(store.append('order-1', 2, createNewEvents(1))).rejects.toThrow(Fault)
  server.faults.refuse = undefined
  expect(await retryUntilStoreAnswers(() => store.append('order-1', 2, createNewEvents(1)))).toMatchObject({
    outcome: 'appended',
  })
})

it('an unreachable cluster does not crash the process, and the store connects when the cluster is up again', async () => {
  const { server } = await openServerAndStore()
  const { host, port } = server.endpoint
  const store = openKurrentStore(`kurrentdb://${host}:${port},127.0.0.1:1?tls=false&discoveryInterval=10&maxDiscoverAttempts=3`)
  const stop = new AbortController()
  const followers = ['order', 'hold'].map((category) =>
    store
      .follow({ categories: [category], after: 'start', signal: stop.signal })
      [Symbol.asyncIterator]()
      .next(),
  )
  await retryUntilStoreAnswers(() => store.append('order-1', 'none', createNewEvents(3)))
  server.stop()
  for (let tries = 0; tries < 3; tries++) {
    const calls = Array.from({ length: 5 }, (_, n) => store.append(`payout-${n}`, 'none', [createNewEvent()]))
    expect((await Promise.allSettled(calls)).map((call) => call.status)).not.toContain('fulfilled')
  }
  await server.start()
  expect(await retryUntilStoreAnswers(() => store.append('hold-1', 'none', [createNewEvent()]))).toMatchObject({
    outcome: 'appended',
  })
  expect((await Promise.all(followers)).map(({ done }) => done)).toEqual([false, false])
  stop.abort()
})

it('reads skip events of the server, links and tombstones', async () => {
  const { server, store } = await openServerAndStore()
  const readEvents = []
  for (let n = 0; n < 12; n++) {
    await store.append(`order-${n}`, 'none', createNewEvents(1))
    readEvents.push(...(await store.read(`order-${n}`)))
    if (n === 6) server.log.system('order-gone', '$streamDeleted')
  }
  expect(server.log.all().length).toBeGreaterThan(readEvents.length)
  expect(await store.readAll('start', 100)).toEqual(readEvents)
  expect(await store.readAll('start', 100, ['order'])).toEqual(readEvents)
})

it('reads of a stream and of the log return more than one page', async () => {
  const { store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(700))
  await store.append('order-1', 699, createNewEvents(500))
  expect((await store.read('order-1')).map(({ revision }) => revision)).toEqual(Array.from({ length: 1200 }, (_, n) => n))
  expect(await store.read('order-1', 650, 520)).toHaveLength(520)
  expect(await store.readAll('start', 1100)).toHaveLength(1100)
  expect(await store.readAll('start', 10, [])).toEqual([])
})

it('a read from a position that the server never returned throws a Bug', async () => {
  const { store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(2))
  const [, second] = await store.readAll('start', 2)
  expect(await store.readAll(second?.position ?? 0n, 9)).toEqual([])
  await expect(store.readAll((second?.position ?? 0n) - 1n, 9)).rejects.toThrow(Bug)
})

it('a read of an event that another program wrote to our streams throws a Bug', async () => {
  const { server, store } = await openServerAndStore()
  const foreign = { ...createNewEvent(), contentType: 'application/json', data: Buffer.from('{}'), metadata: Buffer.from('{}') }
  server.log.append('order-1', undefined, [foreign])
  await expect(store.read('order-1')).rejects.toThrow(Bug)
  await expect(store.readAll('start', 10)).rejects.toThrow(Bug)
})
