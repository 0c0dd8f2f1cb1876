import { status } from '@grpc/grpc-js'
import { expect, it } from 'vitest'
import { Fault } from '@penstock/kernel/result.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { createServiceError } from './double/messages.ts'
import { retryUntilStoreAnswers, openServerAndStore, createNewEvent, createNewEvents, followDuringTest } from './stores.ts'

type Pair = Awaited<ReturnType<typeof openServerAndStore>>

const followInOrder = async ({ store }: Pair): Promise<string[]> =>
  (await store.readAll('start', 10_000, ['order'])).map(({ id }) => id)

/** Appends in rounds, and injects one fault in the middle of each round. */
async function appendThrough({ store, server }: Pair, failures: readonly (() => void)[]): Promise<void> {
  for (const [round, injectFault] of failures.entries()) {
    await waitForValue('the subscription is open', async () => server.subscriptions.count() === 1)
    for (let n = 0; n < 15; n++) {
      await store.append(`order-${round * 15 + n}`, 'none', createNewEvents(2))
      if (n === 7) injectFault()
    }
  }
}

it('a follower continues without loss or repetition after its subscription ended or failed', async () => {
  const pair = await openServerAndStore()
  const { seen: received, waitForCount } = followDuringTest(pair.store)
  const ends = [
    undefined,
    createServiceError(status.UNAVAILABLE, 'away'),
    createServiceError(status.ABORTED, 'too slow'),
    createServiceError(status.CANCELLED, 'off'),
  ]
  await appendThrough(
    pair,
    ends.map((end) => () => pair.server.subscriptions.drop(end)),
  )
  await waitForCount(120)
  expect(received.map(({ id }) => id)).toEqual(await followInOrder(pair))
  expect(pair.server.subscriptions.startPositions.length).toBeGreaterThan(3)
})

it('a follower continues after restarts of the server', async () => {
  const pair = await openServerAndStore()
  const { seen: received, waitForCount } = followDuringTest(pair.store)
  for (let round = 0; round < 3; round++) {
    await retryUntilStoreAnswers(() => pair.store.append(`order-${round}`, 'none', createNewEvents(20)))
    await waitForCount(20 * (round + 1))
    pair.server.stop()
    await expect(pair.store.append('order-9', 'none', [createNewEvent()])).rejects.toThrow(Fault)
    await pair.server.start()
  }
  expect(received.map(({ id }) => id)).toEqual(await retryUntilStoreAnswers(() => followInOrder(pair)))
})

it('a follower reads the log by polling while its subscription is silent or cannot be opened', async () => {
  const pair = await openServerAndStore()
  const { seen: received, waitForCount } = followDuringTest(pair.store)
  await pair.store.append('order-1', 'none', createNewEvents(2))
  await waitForCount(2)
  pair.server.subscriptions.forget()
  await pair.store.append('order-1', 1, createNewEvents(2))
  await waitForCount(4)
  pair.server.faults.silentCalls.add('subscribe')
  pair.server.subscriptions.drop()
  await pair.store.append('order-1', 3, createNewEvents(2))
  await waitForValue(
    'the follower subscribes again',
    async () => pair.server.calls.filter(({ kind }) => kind === 'subscribe').length > 4,
  )
  pair.server.faults.silentCalls.clear()
  await waitForCount(6)
  expect(received.map(({ id }) => id)).toEqual(await followInOrder(pair))
})

it('a slow consumer makes the server end its subscription, and misses no event', async () => {
  const pair = await openServerAndStore()
  const text = JSON.stringify('x'.repeat(20_000))
  for (let n = 0; n < 30; n++)
    await pair.store.append(
      `order-${n}`,
      'none',
      Array.from({ length: 40 }, () => createNewEvent(text)),
    )
  pair.server.faults.maxWaiting = 100
  const stop = new AbortController()
  const received: string[] = []
  for await (const batch of pair.store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) {
    if (received.length === 0)
      await waitForValue('the server ends the subscription', async () => pair.server.subscriptions.count() === 0)
    pair.server.faults.maxWaiting = Number.POSITIVE_INFINITY
    received.push(...batch.map(({ id }) => id))
    if (received.length === 1200) stop.abort()
  }
  expect(received).toEqual(await followInOrder(pair))
  expect(pair.server.subscriptions.startPositions.length).toBeGreaterThan(1)
})

it('a follower advances by checkpoints while its categories have no new events', async () => {
  const pair = await openServerAndStore()
  const { seen: received, waitForCount } = followDuringTest(pair.store, ['hold'])
  await pair.store.append('hold-1', 'none', createNewEvents(1))
  await waitForCount(1)
  for (let n = 0; n < 10; n++) await pair.store.append(`order-${n}`, 'none', createNewEvents(100))
  await waitForValue('the follower subscribes after a checkpoint', async () => {
    const before = pair.server.subscriptions.startPositions.length
    pair.server.subscriptions.drop()
    await waitForValue('the follower subscribes again', async () => pair.server.subscriptions.startPositions.length > before)
    const last = pair.server.subscriptions.startPositions.at(-1)
    return last !== undefined && last !== 'start' && last > (received[0]?.position ?? 0n)
  })
  await pair.store.append('hold-1', 0, createNewEvents(1))
  await waitForCount(2)
})

it('a checkpoint does not overtake events that the consumer has not read yet', async () => {
  const pair = await openServerAndStore()
  for (let n = 0; n < 4; n++) await pair.store.append(`order-${n}`, 'none', createNewEvents(100))
  await pair.store.append('hold-1', 'none', createNewEvents(400))
  const stop = new AbortController()
  const received: string[] = []
  for await (const batch of pair.store.follow({ categories: ['order'], after: 'start', signal: stop.signal })) {
    pair.server.subscriptions.drop(createServiceError(status.UNAVAILABLE, 'away'))
    received.push(...batch.map(({ id }) => id))
    if (received.length >= 400) stop.abort()
  }
  expect(received).toEqual(await followInOrder(pair))
})

it('a follower that has received no event subscribes from the start after its subscription ended', async () => {
  const pair = await openServerAndStore()
  const { waitForCount } = followDuringTest(pair.store, ['hold'])
  const { startPositions } = pair.server.subscriptions
  for (let round = 1; round <= 5; round++) {
    await waitForValue(
      'the subscription is open',
      async () => startPositions.length === round && pair.server.subscriptions.count() === 1,
    )
    pair.server.subscriptions.drop()
  }
  await waitForValue('the subscription is open again', async () => pair.server.subscriptions.count() === 1)
  expect(new Set(startPositions)).toEqual(new Set(['start']))
  await retryUntilStoreAnswers(() => pair.store.append('hold-1', 'none', createNewEvents(2)))
  await waitForCount(2)
})

it('a follower compares its subscription with the log, and receives an event that the subscription skipped', async () => {
  const pair = await openServerAndStore(undefined, { quietMs: 60_000, sweepMs: 50 })
  const { seen: received, waitForCount } = followDuringTest(pair.store, ['hold'])
  await waitForValue('the subscription is open', async () => pair.server.subscriptions.count() === 1)
  pair.server.faults.hiddenStreams.add('hold-1')
  await pair.store.append('hold-1', 'none', createNewEvents(2))
  let otherCount = 0
  await waitForValue('the follower subscribes again', async () => {
    await pair.store.append(`order-${otherCount++}`, 'none', createNewEvents(100))
    return pair.server.subscriptions.startPositions.length > 1
  })
  pair.server.faults.hiddenStreams.clear()
  pair.server.subscriptions.drop()
  await waitForCount(2)
  expect(received.map(({ stream }) => stream)).toEqual(['hold-1', 'hold-1'])
})
