import { kurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import { status } from '@grpc/grpc-js'
import { FORWARDS, KurrentDBClient, streamNameFilter } from '@kurrent/kurrentdb-client'
import { expect, it, onTestFinished } from 'vitest'
import { doubleCluster } from './double/cluster.ts'
import { failure } from './double/messages.ts'
import { answered, aPair, aServer, aStore, event, events, following } from './stores.ts'

/** What a real EventStoreDB 24.2.0 was seen to do: each row is a case of the double, and of the adapter. */

const followerAfter = (store: EventStore, after: bigint) =>
  store.follow({ categories: ['order'], after, signal: AbortSignal.timeout(20_000) })[Symbol.asyncIterator]()

const firstOf = (store: EventStore, after: bigint) => followerAfter(store, after).next()

function aClient(url: string): KurrentDBClient {
  const client = KurrentDBClient.connectionString(url)
  onTestFinished(() => client.dispose())
  return client
}

it('the first checkpoint where nothing matched is 2^64 - 1, and no position', async () => {
  const { server, store } = await aPair()
  const told: bigint[] = []
  const filter = streamNameFilter({ prefixes: ['hold-'], checkpointReached: async (_, { commit }) => void told.push(commit) })
  const subscription = aClient(server.url).subscribeToAll({ filter }).resume()
  await until('a checkpoint is told', async () => told.length > 0)
  await subscription.unsubscribe()
  expect(told).toEqual([2n ** 64n - 1n])
  const { sees } = following(store, ['hold'])
  await until('it follows alone', async () => server.subscriptions.asked.length === 2 && server.subscriptions.count() === 1)
  server.subscriptions.drop()
  await until('it follows again', async () => server.subscriptions.asked.length === 3)
  expect(server.subscriptions.asked.at(-1)).toBe('start')
  await store.append('hold-1', 'none', [event()])
  await sees(1)
})

it('a read at a position that was never given out is UNKNOWN, and a bug that is not tried again', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(2))
  const [first] = await store.readAll('start', 1)
  const wrong = (first?.position ?? 0n) + 1n
  const before = server.calls.length
  await expect(store.readAll(wrong, 9)).rejects.toThrow(/never gave out.*restore both from one backup/)
  await expect(store.readAll(wrong, 9)).rejects.toThrow(Bug)
  expect(server.calls.length - before).toBeLessThan(20)
})

it('a subscription at a wrong position is confirmed, then refused with INVALID_ARGUMENT, and a bug', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(2))
  const [first] = await store.readAll('start', 1)
  const wrong = (first?.position ?? 0n) + 1n
  const seen: string[] = []
  aClient(server.url)
    .subscribeToAll({ fromPosition: { commit: wrong, prepare: wrong } })
    .on('confirmation', () => seen.push('confirmed'))
    .on('error', ({ message }: Error) => seen.push(message))
    .resume()
  await until('it is refused', async () => seen.length === 2)
  expect(seen).toEqual(['confirmed', expect.stringMatching(/INVALID_ARGUMENT.*invalid position/)])
  const asked = server.calls.length
  const follower = followerAfter(store, wrong)
  await expect(follower.next()).rejects.toThrow(Bug)
  // It has ended, and only a follower that goes on asks again.
  expect(await follower.next()).toEqual({ done: true, value: undefined })
  expect(server.calls.slice(asked).filter(({ kind }) => kind === 'subscribe')).toHaveLength(1)
})

it("a position beyond the log's end is silence at the server, and a bug with what to do", async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(5))
  const last = (await store.readAll('start', 9)).at(-1)?.position ?? 0n
  const beyond = last + 1000n
  const read = aClient(server.url).readAll({ fromPosition: { commit: beyond, prepare: beyond }, direction: FORWARDS })
  expect(await Array.fromAsync(read)).toEqual([])
  const asks = [() => store.readAll(beyond, 9), () => store.readAll(beyond, 9, ['order']), () => firstOf(store, beyond)]
  for (const ask of asks) {
    const error: unknown = await ask().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Bug)
    expect(String(error)).toMatch(/beyond the end of the log.*restore the tables from a backup/)
  }
  expect(await store.readAll(last, 9)).toEqual([])
})

it('a follower whose server comes back with an older log finds a bug, and waits for no event', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(5))
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const run = (async () => {
    for await (const batch of store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) void batch
  })()
  const ended = run.catch((error: unknown) => error)
  await until('it follows', async () => server.subscriptions.count() === 1)
  const { port } = server.endpoint
  server.stop()
  await aServer({ port })
  expect(String(await ended)).toMatch(/Bug: position \d+ is beyond the end of the log/)
})

it.each([
  ['$tb', 3],
  ['$maxCount', 2],
])('a stream under %s is hidden from its readers, visible in the log, and a bug', async (setting, value) => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', events(5))
  server.log.system('$$order-1', '$metadata', JSON.stringify({ [setting]: value }))
  const shown = await Array.fromAsync(aClient(server.url).readStream('order-1'), (one) => Number(one.event?.revision))
  expect(shown).toEqual([3, 4])
  expect(await store.readAll('start', 9, ['order'])).toHaveLength(5)
  await expect(store.read('order-1')).rejects.toThrow(/hides events of order-1 before revision 3: remove \$maxCount/)
  await expect(store.read('order-1')).rejects.toThrow(Bug)
  expect(await store.read('order-1', 3)).toHaveLength(2)
  expect(await kurrentSettingsFaults({ url: server.url })).toHaveLength(1)
})

it('a former leader ends itself after a pause until a supervisor starts it; a follower goes on within 2 s', async () => {
  const cluster = await doubleCluster(3)
  onTestFinished(() => cluster.stop())
  const store = aStore(cluster.url, { quietMs: 60_000, sweepMs: 60_000, timeoutMs: 5000 })
  const { seen, sees } = following(store)
  await answered(() => store.append('order-1', 'none', events(2)))
  await sees(2)
  for (const [former, next] of [
    [0, 1],
    [1, 2],
  ] as const) {
    cluster.pause(former)
    cluster.elect(next)
    const changedAt = performance.now()
    // Another process finds the new leader by itself.
    const elsewhere = aStore(`kurrentdb://127.0.0.1:${cluster.server(next).endpoint.port}?tls=false`)
    await elsewhere.append(`hold-${next}`, 'none', [event()])
    await elsewhere.append(`order-${next + 1}`, 'none', [event()])
    await sees(3 + former)
    expect(performance.now() - changedAt).toBeLessThan(2000)
    cluster.resume(former)
    expect(cluster.state(former)).toBe('ended')
    await expect(aStore(cluster.server(former).url).read('order-1')).rejects.toThrow(Fault)
    await cluster.start(former)
  }
  // Started again it sends on to the leader whoever asks for that.
  const back = aStore(cluster.server(0).url)
  expect(await answered(() => back.append('order-9', 'none', [event()]))).toMatchObject({ outcome: 'appended' })
  await sees(5)
  expect(seen.map(({ id }) => id)).toEqual((await answered(() => store.readAll('start', 99, ['order']))).map(({ id }) => id))
})

it('a follower at a node that does not lead any more goes to the leader within 2 s, though nobody breaks it off', async () => {
  const cluster = await doubleCluster(3)
  onTestFinished(() => cluster.stop())
  const store = aStore(cluster.url, { quietMs: 60_000, sweepMs: 60_000 })
  const { sees } = following(store)
  await until('it follows', async () => cluster.server(0).subscriptions.count() === 1)
  cluster.elect(1)
  cluster.server(0).subscriptions.forget()
  const changedAt = performance.now()
  const elsewhere = aStore(`kurrentdb://127.0.0.1:${cluster.server(1).endpoint.port}?tls=false`)
  await elsewhere.append('order-1', 'none', [event()])
  await sees(1)
  expect(performance.now() - changedAt).toBeLessThan(2000)
  expect(cluster.server(1).subscriptions.count()).toBe(1)
})

it('who may not read the whole log is told of $admins, and of rights on $all', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', [event()])
  await store.readAll('start', 1)
  server.faults.refuse = failure(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' })
  const { host, port } = server.endpoint
  const told = new RegExp(`KurrentDB at ${host}:${port} refuses a read of the log: .*\\$admins.*rights on \\$all`)
  await expect(store.readAll('start', 1)).rejects.toThrow(told)
})

it('an outage is told once for all followers and tries, and its end once, with method, server and cause', async () => {
  const told: string[] = []
  const { server, store } = await aPair(undefined, {
    onFault: ({ message }) => told.push(message),
    onRecovered: () => told.push('recovered'),
  })
  const followers = ['order', 'hold', 'payout', 'offer']
  for (const category of followers) following(store, [category])
  await until('they follow', async () => server.subscriptions.count() === followers.length)
  for (const round of [1, 2]) {
    server.stop()
    await until('they try', async () => told.length === 2 * round - 1)
    server.faults.refuse = failure(status.UNAVAILABLE, 'Server Is Not Ready')
    const before = server.calls.length
    await server.start()
    // A follower asks for the second time after it reported the fault of the first.
    const triesOf = (category: string): number =>
      server.calls.slice(before).filter(({ prefixes }) => prefixes.includes(`${category}-`)).length
    await until('each was refused and tries again', async () => followers.every((category) => triesOf(category) > 1))
    expect(told).toHaveLength(2 * round - 1)
    server.faults.refuse = undefined
    await until('they follow again', async () => told.length === 2 * round && server.subscriptions.count() === followers.length)
  }
  const { host, port } = server.endpoint
  const fault: unknown = expect.stringMatching(
    new RegExp(`^KurrentDB at ${host}:${port} did not carry out (a subscription|a look at .*): .*\\b(UNAVAILABLE|CANCELLED)\\b`),
  )
  expect(told).toEqual([fault, 'recovered', fault, 'recovered'])
})

it('a fault of each method names it, the server and the cause', async () => {
  const { server, store } = await aPair()
  await store.append('order-1', 'none', [event()])
  server.stop()
  const { host, port } = server.endpoint
  const told = (method: string) => new RegExp(`KurrentDB at ${host}:${port} did not carry out ${method}: .*\\w`)
  await expect(store.append('order-2', 'none', [event()])).rejects.toThrow(told('an append to order-2'))
  await expect(store.read('order-1')).rejects.toThrow(told('a read of order-1'))
  await expect(store.readAll('start', 1)).rejects.toThrow(new RegExp(`${told('a read of the log').source}.*ECONNREFUSED`))
  await expect(store.read('order-1')).rejects.toThrow(/ECONNREFUSED/)
  await server.start()
  server.faults.refuse = failure(status.UNAVAILABLE, 'Server Is Not Ready')
  await until('it tells that it can be reached', () =>
    store.read('order-1').then(
      () => false,
      (error: unknown) => /did not carry out a read of order-1: .*(Not Ready|can be reached)/.test(String(error)),
    ),
  )
})
