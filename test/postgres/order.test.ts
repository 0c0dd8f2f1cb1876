import { setTimeout as wait } from 'node:timers/promises'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { EventStore, NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { aServer } from './server.ts'
import { emptyTables, logs } from './stores.ts'

const server = aServer()
const ids = systemIds()
const event = (): NewEvent => ({ id: ids.uuid(), type: 'Happened', data: '{}', meta: '{}' })
const CATEGORIES = ['order', 'hold', 'offer']

type Written = { readonly acknowledged: readonly string[]; readonly faults: number }

/** A writer of its own streams, as careful as the runtime: after a fault the same append again. */
async function writeStreams(store: EventStore, streams: number, name: string): Promise<Written> {
  const acknowledged: string[] = []
  let faults = 0
  for (let n = 0; n < streams; n++) {
    const stream = `${CATEGORIES[n % CATEGORIES.length]}-${name}-${n}`
    const batches = Array.from({ length: 3 }, () => Array.from({ length: 1 + (n % 3) }, event))
    let last = -1
    for (const batch of batches) {
      const append = () => store.append(stream, last < 0 ? 'none' : last, batch)
      const answer = await persistently(append, () => void faults++)
      expect(answer).toMatchObject({ outcome: 'appended', revision: last + batch.length })
      last += batch.length
      acknowledged.push(...batch.map(({ id }) => id))
    }
  }
  return { acknowledged, faults }
}

async function persistently<T>(call: () => Promise<T>, failed: () => void): Promise<T> {
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

/** Somebody who follows all along; `seen` grows. */
function follower(store: EventStore, categories: readonly string[], signal: AbortSignal) {
  const seen: StoredEvent[] = []
  const over = (async () => {
    for await (const batch of store.follow({ categories, after: 'start', signal })) seen.push(...batch)
  })()
  return { seen, over }
}

const idsOf = (events: readonly StoredEvent[]): readonly string[] => events.map(({ id }) => id)

/**
 * What writers and followers of several processes see while something happens to the server: everything that was
 * acknowledged is there, and every follower has seen every event once, in one order, of one log and of several.
 * @returns how often an append met a fault
 */
async function everybodySeesTheSame(happens: () => Promise<void>): Promise<number> {
  const url = await emptyTables(server())
  const stores = await Promise.all(Array.from({ length: 4 }, () => postgresEventStore({ logs, url, pollMs: 200 })))
  const stop = new AbortController()
  const followers = stores.flatMap((store) => [follower(store, CATEGORIES, stop.signal), follower(store, ['hold'], stop.signal)])
  const writing = stores.flatMap((store, n) => Array.from({ length: 4 }, (_, w) => writeStreams(store, 30, `${n}${w}`)))
  await happens()
  const written = await Promise.all(writing)
  const [reader] = stores
  const all = await reader!.readAll('start', 100_000)
  const holds = all.filter(({ stream }) => stream.startsWith('hold-'))
  for (const [n, { seen }] of followers.entries())
    await until('every follower has caught up', async () => seen.length >= (n % 2 === 0 ? all : holds).length)
  stop.abort()
  await Promise.all(followers.map(({ over }) => over))
  await Promise.all(stores.map((store) => store.close()))

  expect(new Set(idsOf(all))).toEqual(new Set(written.flatMap(({ acknowledged }) => acknowledged)))
  expect(new Set(all.map(({ position }) => position)).size).toBe(all.length)
  for (const [n, { seen }] of followers.entries()) expect(idsOf(seen)).toEqual(idsOf(n % 2 === 0 ? all : holds))
  return written.reduce((sum, { faults }) => sum + faults, 0)
}

test('concurrent writers and followers see one order', async () => {
  expect(await everybodySeesTheSame(async () => undefined)).toBe(0)
})

for (const end of ['kill', 'halt'] as const)
  test(`the server ends (${end}) in the middle of appends, twice: nothing acknowledged is lost, and followers go on`, async () => {
    const faults = await everybodySeesTheSame(async () => {
      for (let n = 0; n < 2; n++) {
        await wait(150)
        await server()[end]()
        await wait(150)
        await server().start()
      }
    })
    expect(faults).toBeGreaterThan(0)
  })

test("somebody else's transaction that stays open holds nobody up", async () => {
  const url = await emptyTables(server())
  const stranger = new pg.Client({ connectionString: url })
  await stranger.connect()
  await stranger.query('create table strange (id integer)')
  await stranger.query('begin')
  await stranger.query('insert into strange values (1)')
  const store = await postgresEventStore({ logs, url })
  const stop = new AbortController()
  const { seen, over } = follower(store, CATEGORIES, stop.signal)
  await store.append('order-1', 'none', [event()])
  await until('the follower sees what came after the open transaction', async () => seen.length === 1)
  stop.abort()
  await over
  await store.close()
  await stranger.end()
})
