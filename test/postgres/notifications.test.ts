import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

const ids = systemIds()
/** A follower also reads the log after it connects. This read cannot find all of so many events, so the others need a wake-up. */
const EVENTS = 5
const AN_HOUR_MS = 3_600_000

/**
 * Appends by stores, each in turn, and follows by another. Each append waits until the follower has received the previous event.
 */
async function writeAndFollow(writerUrls: readonly string[], readerUrl: string, pollMs: number): Promise<void> {
  const openWriter = (url: string) => postgresEventStore({ logs: TEST_EVENT_LOGS, url, pollMs: AN_HOUR_MS })
  const writers = await Promise.all(writerUrls.map(openWriter))
  const reader = await postgresEventStore({ logs: TEST_EVENT_LOGS, url: readerUrl, pollMs })
  const stop = new AbortController()
  const received: string[] = []
  const finished = (async () => {
    for await (const batch of reader.follow({ categories: ['order'], after: 'start', signal: stop.signal }))
      received.push(...batch.map(({ id }) => id))
  })()
  try {
    for (let n = 0; n < EVENTS; n++) {
      const id = ids.uuid()
      await writers[n % writers.length]?.append(`order-${n}`, 'none', [{ id, type: 'Happened', data: '{}', meta: '{}' }])
      await waitForValue(`event ${n}`, async () => received.includes(id))
    }
  } finally {
    stop.abort()
    await finished
    await Promise.all([reader, ...writers].map((store) => store.close()))
  }
}

/** Listens to the notifications of a database. `end` returns their payloads. */
async function listen(url: string): Promise<{ end(): Promise<readonly string[]> }> {
  const payloads: string[] = []
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  listener.on('notification', ({ payload }) => void payloads.push(payload ?? ''))
  await listener.query('listen event_log')
  return {
    async end() {
      // Any earlier notification would arrive before the answer to this statement.
      await listener.query('select')
      await listener.end()
      return payloads
    },
  }
}

/** @returns a URL of the database whose sessions send no notifications */
async function muteNotifications(url: string): Promise<string> {
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  await owner.query('create schema mute')
  await owner.query("create function mute.pg_notify(text, text) returns void language sql as 'select'")
  await owner.end()
  const silent = new URL(url)
  silent.searchParams.set('options', '-c search_path=mute,pg_catalog,public')
  return silent.href
}

test('a notification of the server wakes a follower without polling', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  await writeAndFollow([url], url, AN_HOUR_MS)
})

test('a follower polls if the server sends no notifications', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  const silent = await muteNotifications(url)
  const listener = await listen(url)
  await writeAndFollow([silent], url, 50)
  expect(await listener.end()).toEqual([])
})

test('a follower that hears notifications also finds events without one', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  await writeAndFollow([url, await muteNotifications(url)], url, 50)
})

test('a sole reader hears of the appends of its own process at once, and other processes get few notifications of them', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  const open = () => postgresEventStore({ logs: TEST_EVENT_LOGS, url, pollMs: AN_HOUR_MS })
  const [writer, reader] = [await open(), await open()]
  const listener = await listen(url)
  const stop = new AbortController()
  const follow = async (store: typeof writer, soleReaderOf: readonly string[], received: string[]): Promise<void> => {
    for await (const batch of store.follow({ categories: ['order'], after: 'start', soleReaderOf, signal: stop.signal }))
      received.push(...batch.map(({ id }) => id))
  }
  const [read, followed]: [string[], string[]] = [[], []]
  const finished = Promise.all([follow(writer, ['order'], read), follow(reader, [], followed)])
  const appended: string[] = []
  const since = performance.now()
  let notifications: readonly string[] = []
  try {
    for (let n = 0; n < 50; n++) {
      const id = ids.uuid()
      appended.push(id)
      await writer.append(`order-${n}`, 'none', [{ id, type: 'Happened', data: '{}', meta: '{}' }])
      await waitForValue(`event ${n}`, async () => read.includes(id))
    }
    await waitForValue('the other process', async () => followed.length === appended.length)
  } finally {
    stop.abort()
    await finished
    await Promise.all([reader.close(), writer.close()])
    notifications = await listener.end()
  }
  expect(read).toEqual(appended)
  // The first notification goes at once, each of the next half a second later, and the close may send another.
  const most = 3 + Math.floor((performance.now() - since) / 500)
  expect(notifications.length).toBeGreaterThan(0)
  expect(notifications.length).toBeLessThanOrEqual(most)
})
