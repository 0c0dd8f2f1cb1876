import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { waitForValue } from '@penstock/ports/wait-for-value.fixture.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { useOwnPostgresServer } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

// This file has a server of its own with few connections, and pauses and restarts it.
const server = useOwnPostgresServer({ max_connections: 12, superuser_reserved_connections: 3, reserved_connections: 0 })
const ids = systemIds()
const event = (): NewEvent => ({ id: ids.uuid(), type: 'Happened', data: '{}', meta: '{}' })

async function openSession(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // the server may end the session
  await client.connect()
  return client
}

/** Pauses every process of the server: it neither answers nor closes connections. @returns a function that resumes it */
async function pauseServer(url: string): Promise<() => void> {
  const reader = await openSession(url)
  const { rows } = await reader.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname is not null and pid <> pg_backend_pid()',
  )
  await reader.end()
  const pids = [server().pid ?? 0, ...rows.map(({ pid }) => pid)]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

test('a call to a silent server throws a Fault in time, and a retry of the append returns its outcome', async () => {
  const url = await createEmptyDatabase(server())
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url, statementTimeoutMs: 1000, connectTimeoutMs: 1000 })
  const batch = [event()]
  await store.append('order-0', 'none', [event()])
  const resume = await pauseServer(url)
  try {
    await expect(store.append('order-1', 'none', batch)).rejects.toThrow(Fault)
    await expect(store.read('order-1')).rejects.toThrow(Fault)
  } finally {
    resume()
  }
  const answer = await waitForValue('the store answers again', () =>
    store.append('order-1', 'none', batch).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      return undefined
    }),
  )
  expect(answer).toMatchObject({ outcome: 'appended', revision: 0 })
  expect(await store.read('order-1')).toHaveLength(1)
  await store.close()
})

test('a call throws a Fault with advice while the server has too many connections', async () => {
  const url = await createEmptyDatabase(server())
  const otherSession = await openSession(url)
  await otherSession.query(
    "create role guest login password 'guest'; grant all on all tables in schema public to guest; grant select on all sequences in schema public to guest",
  )
  const guestUrl = url.replace(/\/\/[^@]*@/, '//guest:guest@')
  const guests: pg.Client[] = []
  const full = await waitForValue('the server is full', async () => {
    const next = await openSession(guestUrl).catch(() => undefined)
    if (next) guests.push(next)
    return next === undefined
  })
  expect(full).toBe(true)
  await expect(postgresEventStore({ logs: TEST_EVENT_LOGS, url: guestUrl })).rejects.toThrow(
    /PostgreSQL takes no more connections.*PENSTOCK_POSTGRES_CONNECTIONS/,
  )
  await Promise.all(guests.map((one) => one.end()))
  const store = await waitForValue('a connection is free', () =>
    postgresEventStore({ logs: TEST_EVENT_LOGS, url: guestUrl }).catch(() => undefined),
  )
  expect(await store.readAll('start', 1)).toEqual([])
  await store.close()
  await otherSession.end()
})

test('an append throws a Fault after the statement timeout if another session holds a lock', async () => {
  const url = await createEmptyDatabase(server())
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url, statementTimeoutMs: 500 })
  const otherSession = await openSession(url)
  await otherSession.query('begin; lock table event_log_order in access exclusive mode')
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(/statement timeout/)
  await otherSession.end()
  expect(
    await waitForValue('the lock is released', () => store.append('order-1', 'none', [event()]).catch(() => undefined)),
  ).toMatchObject({
    outcome: 'appended',
  })
  await store.close()
})

test('an append with an event id of another stream throws a Bug, and concurrent appends succeed', async () => {
  const url = await createEmptyDatabase(server())
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  const existing = event()
  await store.append('order-1', 'none', [existing])
  const [bug, fine] = await Promise.allSettled([
    store.append('order-2', 'none', [existing]),
    store.append('order-3', 'none', [event()]),
  ])
  expect(bug.status === 'rejected' && bug.reason).toBeInstanceOf(Bug)
  expect(fine).toMatchObject({ status: 'fulfilled', value: { outcome: 'appended' } })
  await store.close()
})

test('a server whose settings may lose acknowledged events is refused', async () => {
  const url = await createEmptyDatabase(server())
  const owner = await openSession(url)
  await owner.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`)
  await owner.end()
  await expect(postgresEventStore({ logs: TEST_EVENT_LOGS, url })).rejects.toThrow(
    'synchronous_commit is off for this user or database; set it to on',
  )
})

test('one of two transactions in a deadlock throws a Fault, and can be retried', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url })
  const progress = await sqlProgress(views)
  const advance = (streams: readonly string[], position: bigint, halfWay: () => Promise<unknown>) =>
    views.db.transaction().execute(async (trx) => {
      for (const [n, stream] of streams.entries()) {
        await progress.advance('view', [{ stream, revision: Number(position), position }], trx)
        if (n === 0) await halfWay()
      }
    })
  const bothHalfWay = Promise.withResolvers<void>()
  let half = 0
  const meet = async (): Promise<void> => {
    if (++half === 2) bothHalfWay.resolve()
    await bothHalfWay.promise
  }
  const outcomes = await Promise.allSettled([
    advance(['order-a', 'order-b'], 1n, meet),
    advance(['order-b', 'order-a'], 2n, meet),
  ])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(outcomes.find((outcome) => outcome.status === 'rejected')?.reason).toBeInstanceOf(Fault)
  await advance(['order-a', 'order-b'], 3n, async () => undefined)
  expect(await progress.revision('view', 'order-b')).toBe(3)
  await views.close()
})

test('transactions that advance the same streams in opposite orders do not deadlock', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url })
  const progress = await sqlProgress(views)
  const streams = Array.from({ length: 200 }, (_, n) => `order-${n}`)
  const advance = (names: readonly string[], revision: number) =>
    views.db.transaction().execute((trx) =>
      progress.advance(
        'view',
        names.map((stream) => ({ stream, revision, position: BigInt(revision) })),
        trx,
      ),
    )
  const rounds = Array.from({ length: 20 }, (_, round) => round)
  const later = await Promise.all(rounds.map((round) => advance(round % 2 === 0 ? streams : streams.toReversed(), round)))
  expect(later.at(-1)).toHaveLength(200)
  expect(await progress.revision('view', 'order-0')).toBe(19)
  await views.close()
})

test('calls of the views throw a Fault during a restart of the server, which loses no committed row', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url })
  const progress = await sqlProgress(views)
  await progress.saveCheckpoint('view', 5n)
  const open = views.db.transaction().execute(async (trx) => {
    await progress.saveCheckpoint('view', 6n, trx)
    await server().shutDown()
    await progress.saveCheckpoint('view', 7n, trx)
  })
  await expect(open).rejects.toThrow(Fault)
  await expect(progress.load('view')).rejects.toThrow(Fault)
  await server().start()
  expect(await progress.load('view')).toEqual({ position: 5n })
  await views.close()
})
