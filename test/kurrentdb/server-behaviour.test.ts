import { findKurrentSettingsFaults } from '@penstock/adapters/kurrentdb/stream-settings.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { EventStore } from '@penstock/ports/event-store.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { status } from '@grpc/grpc-js'
import { FORWARDS, KurrentDBClient, streamNameFilter } from '@kurrent/kurrentdb-client'
import { expect, it, onTestFinished } from 'vitest'
import { createDoubleCluster } from './double/cluster.ts'
import { createServiceError } from './double/messages.ts'
import {
  retryUntilStoreAnswers,
  openServerAndStore,
  useKurrentServer,
  openKurrentStore,
  createNewEvent,
  createNewEvents,
  followDuringTest,
} from './stores.ts'

/**
 * Behaviour of a real EventStoreDB 24.2.0. Each test checks that the test double behaves so, and that the adapter handles it.
 * A follower is a reader that follows our store, not a node of a cluster. The adapter throws a Bug if a retry cannot help, also
 * if an operator restored a wrong backup.
 */

const followAfter = (store: EventStore, after: bigint) =>
  store.follow({ categories: ['order'], after, signal: AbortSignal.timeout(20_000) })[Symbol.asyncIterator]()

const takeFirst = (store: EventStore, after: bigint) => followAfter(store, after).next()

function useClient(url: string): KurrentDBClient {
  const client = KurrentDBClient.connectionString(url)
  onTestFinished(() => client.dispose())
  return client
}

it('the first checkpoint of a subscription without matching events is 2^64 - 1, which the adapter ignores', async () => {
  const { server, store } = await openServerAndStore()
  const commits: bigint[] = []
  const filter = streamNameFilter({ prefixes: ['hold-'], checkpointReached: async (_, { commit }) => void commits.push(commit) })
  const subscription = useClient(server.url).subscribeToAll({ filter }).resume()
  await waitForValue('a checkpoint arrives', async () => commits.length > 0)
  await subscription.unsubscribe()
  expect(commits).toEqual([2n ** 64n - 1n])
  const { waitForCount } = followDuringTest(store, ['hold'])
  await waitForValue(
    'only the follower is subscribed',
    async () => server.subscriptions.startPositions.length === 2 && server.subscriptions.count() === 1,
  )
  server.subscriptions.drop()
  await waitForValue('the follower subscribes again', async () => server.subscriptions.startPositions.length === 3)
  expect(server.subscriptions.startPositions.at(-1)).toBe('start')
  await store.append('hold-1', 'none', [createNewEvent()])
  await waitForCount(1)
})

it('a read from a position that the server never returned fails with UNKNOWN, and throws a Bug without a retry', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(2))
  const [first] = await store.readAll('start', 1)
  const unknownPosition = (first?.position ?? 0n) + 1n
  const before = server.calls.length
  await expect(store.readAll(unknownPosition, 9)).rejects.toThrow(
    /does not know a requested position.*restore both from one backup/,
  )
  await expect(store.readAll(unknownPosition, 9)).rejects.toThrow(Bug)
  expect(server.calls.length - before).toBeLessThan(20)
})

it('a subscription from a wrong position is confirmed, then fails with INVALID_ARGUMENT, and throws a Bug', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(2))
  const [first] = await store.readAll('start', 1)
  const unknownPosition = (first?.position ?? 0n) + 1n
  const received: string[] = []
  useClient(server.url)
    .subscribeToAll({ fromPosition: { commit: unknownPosition, prepare: unknownPosition } })
    .on('confirmation', () => received.push('confirmed'))
    .on('error', ({ message }: Error) => received.push(message))
    .resume()
  await waitForValue('the subscription fails', async () => received.length === 2)
  expect(received).toEqual(['confirmed', expect.stringMatching(/INVALID_ARGUMENT.*invalid position/)])
  const callsBefore = server.calls.length
  const follower = followAfter(store, unknownPosition)
  await expect(follower.next()).rejects.toThrow(Bug)
  // The follower has ended, and does not subscribe again.
  expect(await follower.next()).toEqual({ done: true, value: undefined })
  expect(server.calls.slice(callsBefore).filter(({ kind }) => kind === 'subscribe')).toHaveLength(1)
})

it("the server returns no events from a position beyond the log's end, and the adapter throws a Bug with advice", async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(5))
  const last = (await store.readAll('start', 9)).at(-1)?.position ?? 0n
  const beyond = last + 1000n
  const read = useClient(server.url).readAll({ fromPosition: { commit: beyond, prepare: beyond }, direction: FORWARDS })
  expect(await Array.fromAsync(read)).toEqual([])
  const reads = [() => store.readAll(beyond, 9), () => store.readAll(beyond, 9, ['order']), () => takeFirst(store, beyond)]
  for (const failingRead of reads) {
    const error: unknown = await failingRead().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Bug)
    expect(String(error)).toMatch(/beyond the end of the log.*restore the tables from a backup/)
  }
  expect(await store.readAll(last, 9)).toEqual([])
})

it('a follower throws a Bug at once if its server restarts with an older log', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(5))
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const run = (async () => {
    for await (const batch of store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) void batch
  })()
  const ended = run.catch((error: unknown) => error)
  await waitForValue('the subscription is open', async () => server.subscriptions.count() === 1)
  const { port } = server.endpoint
  server.stop()
  await useKurrentServer({ port })
  expect(String(await ended)).toMatch(/Bug: position \d+ is beyond the end of the log/)
})

it.each([
  ['$tb', 3],
  ['$maxCount', 2],
])('events that %s hides from stream readers remain in the log, and a stream read throws a Bug', async (setting, value) => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', createNewEvents(5))
  server.log.system('$$order-1', '$metadata', JSON.stringify({ [setting]: value }))
  const revisions = await Array.fromAsync(useClient(server.url).readStream('order-1'), (one) => Number(one.event?.revision))
  expect(revisions).toEqual([3, 4])
  expect(await store.readAll('start', 9, ['order'])).toHaveLength(5)
  await expect(store.read('order-1')).rejects.toThrow(/hides events of order-1 before revision 3: remove \$maxCount/)
  await expect(store.read('order-1')).rejects.toThrow(Bug)
  expect(await store.read('order-1', 3)).toHaveLength(2)
  expect(await findKurrentSettingsFaults({ url: server.url })).toHaveLength(1)
})

it('a former leader ends itself after a pause, and a reader of our store continues at the new leader within 5 s', async () => {
  const cluster = await createDoubleCluster(3)
  onTestFinished(() => cluster.stop())
  // Neither a silent subscription (`quietMs`) nor a regular read of the log (`sweepMs`) helps the follower during the test.
  const store = openKurrentStore(cluster.url, { quietMs: 60_000, sweepMs: 60_000, timeoutMs: 5000 })
  const { seen: received, waitForCount } = followDuringTest(store)
  await retryUntilStoreAnswers(() => store.append('order-1', 'none', createNewEvents(2)))
  await waitForCount(2)
  for (const [former, next] of [
    [0, 1],
    [1, 2],
  ] as const) {
    cluster.pause(former)
    cluster.elect(next)
    const changedAt = performance.now()
    // Another process connects to the new leader.
    const leaderStore = openKurrentStore(`kurrentdb://127.0.0.1:${cluster.server(next).endpoint.port}?tls=false`)
    await leaderStore.append(`hold-${next}`, 'none', [createNewEvent()])
    await leaderStore.append(`order-${next + 1}`, 'none', [createNewEvent()])
    await waitForCount(3 + former)
    expect(performance.now() - changedAt).toBeLessThan(5000)
    cluster.resume(former)
    expect(cluster.state(former)).toBe('ended')
    await expect(openKurrentStore(cluster.server(former).url).read('order-1')).rejects.toThrow(Fault)
    await cluster.start(former)
  }
  // A restarted node redirects calls that need the leader.
  const back = openKurrentStore(cluster.server(0).url)
  expect(await retryUntilStoreAnswers(() => back.append('order-9', 'none', [createNewEvent()]))).toMatchObject({
    outcome: 'appended',
  })
  await waitForCount(5)
  expect(received.map(({ id }) => id)).toEqual(
    (await retryUntilStoreAnswers(() => store.readAll('start', 99, ['order']))).map(({ id }) => id),
  )
})

it('a reader of our store moves from a former leader to the new leader in 5 s, although its subscription is open', async () => {
  const cluster = await createDoubleCluster(3)
  onTestFinished(() => cluster.stop())
  const store = openKurrentStore(cluster.url, { quietMs: 60_000, sweepMs: 60_000 })
  const { waitForCount } = followDuringTest(store)
  await waitForValue('the subscription is open', async () => cluster.server(0).subscriptions.count() === 1)
  cluster.elect(1)
  cluster.server(0).subscriptions.forget()
  const changedAt = performance.now()
  const leaderStore = openKurrentStore(`kurrentdb://127.0.0.1:${cluster.server(1).endpoint.port}?tls=false`)
  await leaderStore.append('order-1', 'none', [createNewEvent()])
  await waitForCount(1)
  expect(performance.now() - changedAt).toBeLessThan(5000)
  expect(cluster.server(1).subscriptions.count()).toBe(1)
})

it('the error of a refused read of the whole log mentions $admins and rights on $all', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', [createNewEvent()])
  await store.readAll('start', 1)
  server.faults.refuse = createServiceError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' })
  const { host, port } = server.endpoint
  const expectedError = new RegExp(`KurrentDB at ${host}:${port} refuses a read of the log: .*\\$admins.*rights on \\$all`)
  await expect(store.readAll('start', 1)).rejects.toThrow(expectedError)
})

it('an outage of all followers and its end are each reported once, the outage with method, server and cause', async () => {
  const warnings: string[] = []
  const { server, store } = await openServerAndStore(undefined, {
    onFault: ({ message }) => warnings.push(message),
    onRecovered: () => warnings.push('recovered'),
  })
  const followers = ['order', 'hold', 'payout', 'offer']
  for (const category of followers) followDuringTest(store, [category])
  await waitForValue('all followers are subscribed', async () => server.subscriptions.count() === followers.length)
  for (const round of [1, 2]) {
    server.stop()
    await waitForValue('the outage is reported', async () => warnings.length === 2 * round - 1)
    server.faults.refuse = createServiceError(status.UNAVAILABLE, 'Server Is Not Ready')
    const before = server.calls.length
    await server.start()
    // A second try shows that the follower has reported the fault of its first try.
    const triesOf = (category: string): number =>
      server.calls.slice(before).filter(({ prefixes }) => prefixes.includes(`${category}-`)).length
    await waitForValue('each follower was refused and retries', async () => followers.every((category) => triesOf(category) > 1))
    expect(warnings).toHaveLength(2 * round - 1)
    server.faults.refuse = undefined
    await waitForValue(
      'all followers are subscribed again',
      async () => warnings.length === 2 * round && server.subscriptions.count() === followers.length,
    )
  }
  const { host, port } = server.endpoint
  const fault: unknown = expect.stringMatching(
    new RegExp(`^KurrentDB at ${host}:${port} did not carry out (a subscription|a read of .*): .*\\b(UNAVAILABLE|CANCELLED)\\b`),
  )
  expect(warnings).toEqual([fault, 'recovered', fault, 'recovered'])
})

it('the fault of each method contains the method, the server and the cause', async () => {
  const { server, store } = await openServerAndStore()
  await store.append('order-1', 'none', [createNewEvent()])
  server.stop()
  const { host, port } = server.endpoint
  const faultOf = (method: string) => new RegExp(`KurrentDB at ${host}:${port} did not carry out ${method}: .*\\w`)
  await expect(store.append('order-2', 'none', [createNewEvent()])).rejects.toThrow(faultOf('an append to order-2'))
  await expect(store.read('order-1')).rejects.toThrow(faultOf('a read of order-1'))
  await expect(store.readAll('start', 1)).rejects.toThrow(new RegExp(`${faultOf('a read of the log').source}.*ECONNREFUSED`))
  await expect(store.read('order-1')).rejects.toThrow(/ECONNREFUSED/)
  await server.start()
  server.faults.refuse = createServiceError(status.UNAVAILABLE, 'Server Is Not Ready')
  await waitForValue('the error says that the server is reachable', () =>
    store.read('order-1').then(
      () => false,
      (error: unknown) => /did not carry out a read of order-1: .*(Not Ready|can be reached)/.test(String(error)),
    ),
  )
})
