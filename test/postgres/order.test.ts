import { setTimeout as wait } from 'node:timers/promises'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { useOwnPostgresServer } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

// This file has a server of its own, because it kills and restarts the server.
const server = useOwnPostgresServer()
const ids = systemIds()
const event = (): NewEvent => ({ id: ids.uuid(), type: 'Happened', data: '{}', meta: '{}' })
const CATEGORIES = ['order', 'hold', 'offer']

type WriteResult = { readonly acknowledged: readonly string[]; readonly faults: number }

/** Appends to streams that no other writer uses, and repeats an append after a fault, as the runtime does. */
async function writeStreams(store: EventStore, streams: number, name: string): Promise<WriteResult> {
  const acknowledged: string[] = []
  let faults = 0
  for (let n = 0; n < streams; n++) {
    const stream = `${CATEGORIES[n % CATEGORIES.length]}-${name}-${n}`
    const batches = Array.from({ length: 3 }, () => Array.from({ length: 1 + (n % 3) }, event))
    let last = -1
    for (const batch of batches) {
      const append = () => store.append(stream, last < 0 ? 'none' : last, batch)
      const answer = await retryAppend(append, () => void faults++)
      expect(answer).toMatchObject({ outcome: 'appended', revision: last + batch.length })
      last += batch.length
      acknowledged.push(...batch.map(({ id }) => id))
    }
  }
  return { acknowledged, faults }
}

async function retryAppend<T>(call: () => Promise<T>, failed: () => void): Promise<T> {
  const end = Date.now() + 40_000
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof Fault) || Date.now() > end) throw error
      failed()
      await wait(50)
    }
  }
}

/** Starts a follower that runs until the signal. `seen` contains the received events. */
function follower(store: EventStore, categories: readonly string[], signal: AbortSignal) {
  const received: StoredEvent[] = []
  const finished = (async () => {
    for await (const batch of store.follow({ categories, after: 'start', signal })) received.push(...batch)
  })()
  return { seen: received, over: finished }
}

const idsOf = (events: readonly StoredEvent[]): readonly string[] => events.map(({ id }) => id)

/**
 * Runs writers and followers of several stores while `disturb` acts on the server. Expects that the log contains exactly the
 * acknowledged events. Expects that every follower, of one log or of several, receives each event once in the log's order.
 * @returns the number of faults of appends
 */
async function expectSameOrder(disturb: () => Promise<void>): Promise<number> {
  const url = await createEmptyDatabase(server())
  const stores = await Promise.all(
    Array.from({ length: 4 }, () => postgresEventStore({ logs: TEST_EVENT_LOGS, url, pollMs: 200 })),
  )
  const stop = new AbortController()
  const followers = stores.flatMap((store) => [follower(store, CATEGORIES, stop.signal), follower(store, ['hold'], stop.signal)])
  const writing = stores.flatMap((store, n) => Array.from({ length: 4 }, (_, w) => writeStreams(store, 30, `${n}${w}`)))
  await disturb()
  const written = await Promise.all(writing)
  const [reader] = stores
  const all = await reader!.readAll('start', 100_000)
  const holds = all.filter(({ stream }) => stream.startsWith('hold-'))
  for (const [n, { seen: received }] of followers.entries())
    await waitForValue('every follower has caught up', async () => received.length >= (n % 2 === 0 ? all : holds).length)
  stop.abort()
  await Promise.all(followers.map(({ over: finished }) => finished))
  await Promise.all(stores.map((store) => store.close()))

  expect(new Set(idsOf(all))).toEqual(new Set(written.flatMap(({ acknowledged }) => acknowledged)))
  expect(new Set(all.map(({ position }) => position)).size).toBe(all.length)
  for (const [n, { seen: received }] of followers.entries()) expect(idsOf(received)).toEqual(idsOf(n % 2 === 0 ? all : holds))
  return written.reduce((sum, { faults }) => sum + faults, 0)
}

test('all followers receive the events of concurrent writers in one order', async () => {
  expect(await expectSameOrder(async () => undefined)).toBe(0)
})

for (const end of ['kill', 'shutDown'] as const)
  test(`two ends of the server (${end}) during appends lose no acknowledged event, and followers continue`, async () => {
    const faults = await expectSameOrder(async () => {
      for (let n = 0; n < 2; n++) {
        await wait(150)
        await server()[end]()
        await wait(150)
        await server().start()
      }
    })
    expect(faults).toBeGreaterThan(0)
  })

test('an open transaction of another client does not delay followers', async () => {
  const url = await createEmptyDatabase(server())
  const otherClient = new pg.Client({ connectionString: url })
  await otherClient.connect()
  await otherClient.query('create table strange (id integer)')
  await otherClient.query('begin')
  await otherClient.query('insert into strange values (1)')
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  const stop = new AbortController()
  const { seen: received, over: finished } = follower(store, CATEGORIES, stop.signal)
  await store.append('order-1', 'none', [event()])
  await waitForValue('the follower gets the event after the open transaction', async () => received.length === 1)
  stop.abort()
  await finished
  await store.close()
  await otherClient.end()
})
