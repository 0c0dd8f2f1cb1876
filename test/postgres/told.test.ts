import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { aServer } from './server.ts'
import { emptyTables, logs } from './stores.ts'

const server = aServer()
const ids = systemIds()
/** More than are found by the look that follows a connection, whenever that comes to be. */
const EVENTS = 5
const AN_HOUR_MS = 3_600_000

/** One process writes, another follows; the next event is written when the one before was seen. */
async function followed(writerUrl: string, readerUrl: string, pollMs: number): Promise<void> {
  const writer = await postgresEventStore({ logs, url: writerUrl, pollMs: AN_HOUR_MS })
  const reader = await postgresEventStore({ logs, url: readerUrl, pollMs })
  const stop = new AbortController()
  const seen: string[] = []
  const over = (async () => {
    for await (const batch of reader.follow({ categories: ['order'], after: 'start', signal: stop.signal }))
      seen.push(...batch.map(({ id }) => id))
  })()
  try {
    for (let n = 0; n < EVENTS; n++) {
      const id = ids.uuid()
      await writer.append(`order-${n}`, 'none', [{ id, type: 'Happened', data: '{}', meta: '{}' }])
      await until(`event ${n}`, async () => seen.includes(id))
    }
  } finally {
    stop.abort()
    await over
    await reader.close()
    await writer.close()
  }
}

/** The database, for a session in which nobody is notified of anything. */
async function muted(url: string): Promise<string> {
  const owner = new pg.Client({ connectionString: url })
  await owner.connect()
  await owner.query('create schema mute')
  await owner.query("create function mute.pg_notify(text, text) returns void language sql as 'select'")
  await owner.end()
  const silent = new URL(url)
  silent.searchParams.set('options', '-c search_path=mute,pg_catalog,public')
  return silent.href
}

test('a follower is woken by what the server tells, without looking by itself', async () => {
  const url = await emptyTables(server())
  await followed(url, url, AN_HOUR_MS)
})

test('a follower looks by itself where the server tells nothing', async () => {
  const url = await emptyTables(server())
  const silent = await muted(url)
  const told: string[] = []
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  listener.on('notification', ({ payload }) => void told.push(payload ?? ''))
  await listener.query('listen event_log')
  await followed(silent, url, 50)
  // Whatever was told before comes with the answer to this.
  await listener.query('select')
  await listener.end()
  expect(told).toEqual([])
})
