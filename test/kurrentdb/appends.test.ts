import { Bug, Fault } from '@penstock/kernel/result.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import { describe, expect, it } from 'vitest'
import { answered, aPair, aServer, aStore, event, events } from './stores.ts'

describe.each([{ batches: true }, { batches: false }])('an append, with %o', (how) => {
  it('that the server has stored without an answer is answered from what is stored', async () => {
    const { server, store } = await aPair(how)
    const [first, second] = [events(2), events(3)]
    await store.append('order-1', 'none', first)
    for (const lose of ['silently', 'breaking'] as const) {
      server.faults.lose = lose
      const answer = await answered(() => store.append(`order-${lose}`, 'none', second))
      expect(answer).toMatchObject({ outcome: 'appended', revision: 2 })
      const stored = await store.read(`order-${lose}`)
      expect(stored.map(({ id }) => id)).toEqual(second.map(({ id }) => id))
      expect(answer).toMatchObject({ position: stored.at(-1)?.position })
    }
  })
  it('that a silent server has not stored is a fault in time, and is carried out once when it comes again', async () => {
    const { server, store } = await aPair(how)
    await store.append('order-0', 'none', [event()])
    server.faults.silent.add('append')
    const batch = events(2)
    await expect(store.append('order-1', 'none', batch)).rejects.toThrow(Fault)
    server.faults.silent.clear()
    expect(await answered(() => store.append('order-1', 'none', batch))).toMatchObject({ outcome: 'appended', revision: 1 })
    expect(await store.read('order-1')).toHaveLength(2)
  })
  it('tells the real revision both ways, and that there is no stream', async () => {
    const { store } = await aPair(how)
    await store.append('order-1', 'none', events(3))
    expect(await store.append('order-1', 'none', events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-1', 1, events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-1', 9, events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store.append('order-2', 0, events(1))).toEqual({ outcome: 'conflict', revision: 'none' })
  })
  it('at a node that is not the leader goes to the leader', async () => {
    const leader = await aServer(how)
    const follower = await aServer({ ...how, log: leader.log })
    follower.faults.leader = leader.endpoint
    const store = aStore(follower.url)
    expect(await store.append('order-1', 'none', events(2))).toMatchObject({ outcome: 'appended', revision: 1 })
    expect(await answered(() => store.read('order-1'))).toHaveLength(2)
    expect(await store.append('order-1', 1, events(1))).toMatchObject({ outcome: 'appended', revision: 2 })
    expect(leader.calls.map(({ kind }) => kind)).toContain(how.batches ? 'batchAppend' : 'append')
  })
  it('whose answer has no position is given that of its last event', async () => {
    const { server, store } = await aPair(how)
    server.faults.positions = false
    const answer = await store.append('order-1', 'none', events(2))
    expect(answer).toMatchObject({ position: (await store.read('order-1')).at(-1)?.position })
  })
  it('fails in time while the server is away, and many at once end nobody', async () => {
    const { server, store } = await aPair(how)
    await store.append('order-0', 'none', [event()])
    server.faults.silent.add('append')
    const batches = Array.from({ length: 60 }, () => [event('x'.repeat(400_000))])
    const lost = batches.map((batch, n) => store.append(`hold-${n}`, 'none', batch))
    // What the server does not take waits in the client, and breaks with the connection.
    if (how.batches) await until('the server is stuck', async () => server.calls.some(({ kind }) => kind === 'stalled'))
    server.stop()
    expect((await Promise.allSettled(lost)).map(({ status }) => status)).not.toContain('fulfilled')
    server.faults.silent.clear()
    await server.start()
    const again = batches.map((batch, n) => answered(() => store.append(`hold-${n}`, 'none', batch)))
    expect((await Promise.all(again)).every(({ outcome }) => outcome === 'appended')).toBe(true)
  })
})

it('a server that does not say what it offers holds up appends only until it does', async () => {
  const { server, store } = await aPair()
  server.faults.silent.add('features')
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(Fault)
  server.faults.silent.clear()
  expect(await answered(() => store.append('order-1', 'none', [event()]))).toMatchObject({ outcome: 'appended' })
})

it('what will never be stored is a bug, with what to do', async () => {
  const { server, store } = await aPair()
  server.faults.batchError = 'MaximumAppendSizeExceeded'
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(/MaxAppendSize/)
  server.faults.batchError = 'StreamDeleted'
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(Bug)
  server.faults.batchError = 'AccessDenied'
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(/user or the password/)
  server.faults.batchError = 'Timeout'
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(Fault)
  server.faults.batchError = undefined
  await expect(store.append('order-1', 'none', [{ ...event(), id: 'one' }])).rejects.toThrow(Bug)
  await expect(store.append('order-1', 'none', [{ ...event(), type: '$metadata' }])).rejects.toThrow(Bug)
})
