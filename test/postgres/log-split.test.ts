import { setTimeout as wait } from 'node:timers/promises'
import { appendFunctionOf, logTableOf } from '@penstock/adapters/postgres/event-logs.ts'
import { migrateEventLogs } from '@penstock/adapters/postgres/event-schema.ts'
import { migrateOneLog } from '@penstock/adapters/postgres/event-schema-one.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

const event = (): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data: '{}', meta: '{}' })

async function openSession(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** Appends one event by the append function of this release or of the previous release. */
const appendBy = (client: pg.Client, name: string, stream: string, first: number, id: string = crypto.randomUUID()) =>
  client.query<{ head: number; last_position: string | null }>(
    `select head, last_position from ${name}($1, $2, $3, $4, $5, $6, $7)`,
    [[stream], [first], [1], [id], ['Happened'], ['{}'], ['{}']],
  )

/** A service of the previous release. It appends events to a stream one after the other, and retries after a fault. */
async function createEarlierWriter(url: string, stream: string, signal: AbortSignal): Promise<readonly string[]> {
  const client = await openSession(url)
  const written: string[] = []
  while (!signal.aborted) {
    const id = crypto.randomUUID()
    const append = () => appendBy(client, 'append_to_event_log', stream, written.length, id)
    const answer = await append().catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === '40001') return append()
      throw error
    })
    expect(answer.rows[0]?.head).toBe(written.length - 1)
    expect(answer.rows[0]?.last_position).toMatch(/^\d+$/)
    written.push(id)
  }
  await client.end()
  return written
}

test('a split of the single log keeps all positions, while services of the previous release append', async () => {
  const url = await sharedPostgres.createDatabase()
  const views = openPostgresViews({ url })
  await migrateOneLog(views)
  const stop = new AbortController()
  const streams = ['order-a', 'order-b', 'settlement-a', 'channel-a', 'quote-a']
  const writing = streams.map((stream) => createEarlierWriter(url, stream, stop.signal))
  const reading = await openSession(url)
  await waitForValue('events are stored', async () => (await reading.query('select from event_log limit 200')).rowCount === 200)
  const before = (await reading.query<{ position: string; id: string }>('select position, id from event_log order by position'))
    .rows

  await migrateEventLogs(views, TEST_EVENT_LOGS)
  await wait(300)
  stop.abort()
  const written = await Promise.all(writing)
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  await store.append('order-c', 'none', [event()])
  const all = await store.readAll('start', 100_000)
  expect(all.slice(0, before.length).map(({ position, id }) => ({ position: `${position}`, id }))).toEqual(before)
  expect(all.length).toBeGreaterThan(before.length + 1)
  for (const [n, stream] of streams.entries()) expect((await store.read(stream)).map(({ id }) => id)).toEqual(written[n])
  expect(new Set(all.map(({ position }) => position)).size).toBe(written.flat().length + 1)
  expect((await reading.query('select from event_log')).rowCount).toBe(all.length)
  await migrateEventLogs(views, TEST_EVENT_LOGS)
  await store.close()
  await reading.end()
  await views.close()
})

test('a split is refused if no service owns an event, and the event remains in the single log', async () => {
  const url = await sharedPostgres.createDatabase()
  const views = openPostgresViews({ url })
  await migrateOneLog(views)
  const client = await openSession(url)
  await appendBy(client, 'append_to_event_log', 'ghost-a', 0)
  await expect(migrateEventLogs(views, TEST_EVENT_LOGS)).rejects.toThrow('the stream ghost-a belongs to the log of no service')
  expect((await client.query('select from event_log')).rowCount).toBe(1)
  await client.end()
  await views.close()
})

test('an uncommitted append delays its own log and readers of several logs, and no other log', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  const otherSession = await openSession(url)
  await otherSession.query('begin')
  const { rows } = await appendBy(otherSession, appendFunctionOf('order'), 'order-1', 0)
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  const [first, second] = [event(), event()]
  const answer = await store.append('settlement-1', 'none', [first])
  expect(answer).toMatchObject({ outcome: 'appended', position: BigInt(rows[0]?.last_position ?? 0) + 1n })
  expect((await store.readAll('start', 9, ['settlement'])).map(({ id }) => id)).toEqual([first.id])
  let [isAppended, position] = [false, -1]
  const waiting = store.append('order-2', 'none', [second]).then(() => (isAppended = true))
  const reading = store.readAll('start', 9, ['order', 'settlement']).then(({ length }) => (position = length))
  await wait(300)
  expect([isAppended, position]).toEqual([false, -1])
  await otherSession.query('commit')
  await Promise.all([waiting, reading])
  // The reader waited for the event with the lower position. It would never read this event after it passed the position.
  expect(position).toBeGreaterThanOrEqual(2)
  expect((await store.readAll('start', 9)).map(({ stream }) => stream)).toEqual(['order-1', 'settlement-1', 'order-2'])
  await store.close()
  await otherSession.end()
})

test('an append fails with advice if the position sequence is behind the logs, and no position is used twice', async () => {
  const url = await createEmptyDatabase(sharedPostgres)
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  await store.append('order-1', 'none', [event(), event(), event()])
  const operator = await openSession(url)
  await operator.query(`select setval('event_log_position', 1)`)
  await expect(store.append('order-2', 'none', [event()])).rejects.toThrow('event_log_position is behind the log event_log_order')
  await operator.query(`select setval('event_log_position', (select max(position) from ${logTableOf('order')}))`)
  expect(await store.append('order-2', 'none', [event()])).toMatchObject({ outcome: 'appended', position: 4n })
  await operator.end()
  await store.close()
})

test('an append to a stream that no service owns is refused', async () => {
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url: await createEmptyDatabase(sharedPostgres) })
  await expect(store.append('ghost-1', 'none', [event()])).rejects.toThrow('no service owns the stream ghost-1')
  await store.close()
})
