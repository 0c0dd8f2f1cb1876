import { Bug, Fault } from '@penstock/kernel/result.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import { describe, expect, it } from 'vitest'
import {
  retryUntilStoreAnswers,
  openServerAndStore,
  useKurrentServer,
  openKurrentStore,
  createNewEvent,
  createNewEvents,
} from './stores.ts'

describe.each([{ hasBatchAppend: true }, { hasBatchAppend: false }])('an append, with %o', (how) => {
  it('that the server stored without answering succeeds on a retry, with the stored revision and position', async () => {
    const { server, store } = await openServerAndStore(how)
    const [first, second] = [createNewEvents(2), createNewEvents(3)]
    await store.append('order-1', 'none', first)
    for (const lose of ['silently', 'breaking'] as const) {
      server.faults.lostAnswers = lose
      const answer = await retryUntilStoreAnswers(() => store.append(`order-${lose}`, 'none', second))
      expect(answer).toMatchObject({ outcome: 'appended', revision: 2 })
      const stored = await store.read(`order-${lose}`)
      expect(stored.map(({ id }) => id)).toEqual(second.map(({ id }) => id))
      expect(answer).toMatchObject({ position: stored.at(-1)?.position })
    }
  })
  it('that a silent server did not store fails in time, and a retry stores its events once', async () => {
    const { server, store } = await openServerAndStore(how)
    await store.append('order-0', 'none', [createNewEvent()])
    server.faults.silentCalls.add('append')
    const batch = createNewEvents(2)
    await expect(store.append('order-1', 'none', batch)).rejects.toThrow(Fault)
    server.faults.silentCalls.clear()
    expect(await retryUntilStoreAnswers(() => store.append('order-1', 'none', batch))).toMatchObject({
      outcome: 'appended',
      revision: 1,
    })
    expect(await store.read('order-1')).toHaveLength(2)
  })
  it('reports the current revision, or that the stream is missing, if the expected revision is wrong', async () => {
    const { store } = await openServerAndStore(how)
    await store.append('order-1', 'none', createNewEvents(3))
    expect(await store.append('order-1', 'none', createNewEvents(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-1', 1, createNewEvents(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-1', 9, createNewEvents(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-2', 0, createNewEvents(1))).toEqual({ outcome: 'conflict', revision: 'none' })
  })
  it('to a follower is redirected to the leader', async () => {
    const leader = await useKurrentServer(how)
    const follower = await useKurrentServer({ ...how, log: leader.log })
    follower.faults.leader = leader.endpoint
    const store = openKurrentStore(follower.url)
    expect(await store.append('order-1', 'none', createNewEvents(2))).toMatchObject({ outcome: 'appended', revision: 1 })
    expect(await retryUntilStoreAnswers(() => store.read('order-1'))).toHaveLength(2)
    expect(await store.append('order-1', 1, createNewEvents(1))).toMatchObject({ outcome: 'appended', revision: 2 })
    expect(leader.calls.map(({ kind }) => kind)).toContain(how.hasBatchAppend ? 'batchAppend' : 'append')
  })
  it('whose answer has no position returns the position of its last event', async () => {
    const { server, store } = await openServerAndStore(how)
    server.faults.hasPositions = false
    const answer = await store.append('order-1', 'none', createNewEvents(2))
    expect(answer).toMatchObject({ position: (await store.read('order-1')).at(-1)?.position })
  })
  it('fails in time while the server is down, and many concurrent failures do not crash the process', async () => {
    const { server, store } = await openServerAndStore(how)
    await store.append('order-0', 'none', [createNewEvent()])
    server.faults.silentCalls.add('append')
    const batches = Array.from({ length: 60 }, () => [createNewEvent('x'.repeat(400_000))])
    const lost = batches.map((batch, n) => store.append(`hold-${n}`, 'none', batch))
    // The server does not read these appends, so they wait in the client. They fail when the connection ends.
    if (how.hasBatchAppend)
      await waitForValue('the server is stuck', async () => server.calls.some(({ kind }) => kind === 'stalled'))
    server.stop()
    expect((await Promise.allSettled(lost)).map(({ status }) => status)).not.toContain('fulfilled')
    server.faults.silentCalls.clear()
    await server.start()
    const repeated = batches.map((batch, n) => retryUntilStoreAnswers(() => store.append(`hold-${n}`, 'none', batch)))
    expect((await Promise.all(repeated)).every(({ outcome }) => outcome === 'appended')).toBe(true)
  })
})

it('appends fail while the server does not list its features, and succeed when it does', async () => {
  const { server, store } = await openServerAndStore()
  server.faults.silentCalls.add('features')
  await expect(store.append('order-1', 'none', [createNewEvent()])).rejects.toThrow(Fault)
  server.faults.silentCalls.clear()
  expect(await retryUntilStoreAnswers(() => store.append('order-1', 'none', [createNewEvent()]))).toMatchObject({
    outcome: 'appended',
  })
})

it('an append that can never succeed throws a Bug with advice, and a timeout throws a Fault', async () => {
  const { server, store } = await openServerAndStore()
  server.faults.batchError = 'MaximumAppendSizeExceeded'
  await expect(store.append('order-1', 'none', [createNewEvent()])).rejects.toThrow(/MaxAppendSize/)
  server.faults.batchError = 'StreamDeleted'
  await expect(store.append('order-1', 'none', [createNewEvent()])).rejects.toThrow(Bug)
  server.faults.batchError = 'AccessDenied'
  await expect(store.append('order-1', 'none', [createNewEvent()])).rejects.toThrow(/user or the password/)
  server.faults.batchError = 'Timeout'
  await expect(store.append('order-1', 'none', [createNewEvent()])).rejects.toThrow(Fault)
  server.faults.batchError = undefined
  await expect(store.append('order-1', 'none', [{ ...createNewEvent(), id: 'one' }])).rejects.toThrow(Bug)
  await expect(store.append('order-1', 'none', [{ ...createNewEvent(), type: '$metadata' }])).rejects.toThrow(Bug)
})
