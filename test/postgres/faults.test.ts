import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { until } from '@penstock/ports/waiting.contract.ts'
import pg from 'pg'
import { expect, test } from 'vitest'
import { aServer } from './server.ts'
import { emptyTables, logs } from './stores.ts'

const server = aServer({ max_connections: 12, superuser_reserved_connections: 3, reserved_connections: 0 })
const ids = systemIds()
const event = (): NewEvent => ({ id: ids.uuid(), type: 'Happened', data: '{}', meta: '{}' })

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // it may be ended by the server
  await client.connect()
  return client
}

/** Stops every process of the server, which then says nothing and closes nothing. @returns what lets them go on */
async function silence(url: string): Promise<() => void> {
  const looking = await session(url)
  const { rows } = await looking.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname is not null and pid <> pg_backend_pid()',
  )
  await looking.end()
  const pids = [server().pid ?? 0, ...rows.map(({ pid }) => pid)]
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

test('a server that says nothing is a fault in time, and the same append finds its outcome afterwards', async () => {
  const url = await emptyTables(server())
  const store = await postgresEventStore({ logs, url, statementTimeoutMs: 1000, connectTimeoutMs: 1000 })
  const batch = [event()]
  await store.append('order-0', 'none', [event()])
  const goOn = await silence(url)
  try {
    await expect(store.append('order-1', 'none', batch)).rejects.toThrow(Fault)
    await expect(store.read('order-1')).rejects.toThrow(Fault)
  } finally {
    goOn()
  }
  const answer = await until('the store answers again', () =>
    store.append('order-1', 'none', batch).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      return undefined
    }),
  )
  expect(answer).toMatchObject({ outcome: 'appended', revision: 0 })
  expect(await store.read('order-1')).toHaveLength(1)
  await store.close()
})

test('too many connections are a fault with a sentence, and pass', async () => {
  const url = await emptyTables(server())
  const stranger = await session(url)
  await stranger.query(
    "create role guest login password 'guest'; grant all on all tables in schema public to guest; grant select on all sequences in schema public to guest",
  )
  const guestUrl = url.replace(/\/\/[^@]*@/, '//guest:guest@')
  const others: pg.Client[] = []
  const full = await until('the server is full', async () => {
    const next = await session(guestUrl).catch(() => undefined)
    if (next) others.push(next)
    return next === undefined
  })
  expect(full).toBe(true)
  await expect(postgresEventStore({ logs, url: guestUrl })).rejects.toThrow(
    /PostgreSQL takes no more connections.*PENSTOCK_POSTGRES_CONNECTIONS/,
  )
  await Promise.all(others.map((one) => one.end()))
  const store = await until('there is room', () => postgresEventStore({ logs, url: guestUrl }).catch(() => undefined))
  expect(await store.readAll('start', 1)).toEqual([])
  await store.close()
  await stranger.end()
})

test('a lock that somebody else keeps is a fault, and nobody waits for ever', async () => {
  const url = await emptyTables(server())
  const store = await postgresEventStore({ logs, url, statementTimeoutMs: 500 })
  const stranger = await session(url)
  await stranger.query('begin; lock table event_log_order in access exclusive mode')
  await expect(store.append('order-1', 'none', [event()])).rejects.toThrow(/statement timeout/)
  await stranger.end()
  expect(await until('the lock is gone', () => store.append('order-1', 'none', [event()]).catch(() => undefined))).toMatchObject({
    outcome: 'appended',
  })
  await store.close()
})

test('an event id that another stream has is a bug of its own append, not of those beside it', async () => {
  const url = await emptyTables(server())
  const store = await postgresEventStore({ logs, url })
  const taken = event()
  await store.append('order-1', 'none', [taken])
  const [bug, fine] = await Promise.allSettled([
    store.append('order-2', 'none', [taken]),
    store.append('order-3', 'none', [event()]),
  ])
  expect(bug.status === 'rejected' && bug.reason).toBeInstanceOf(Bug)
  expect(fine).toMatchObject({ status: 'fulfilled', value: { outcome: 'appended' } })
  await store.close()
})

test('a server that may lose what it acknowledged is refused', async () => {
  const url = await emptyTables(server())
  const owner = await session(url)
  await owner.query(`alter database ${new URL(url).pathname.slice(1)} set synchronous_commit = off`)
  await owner.end()
  await expect(postgresEventStore({ logs, url })).rejects.toThrow(
    'synchronous_commit is off for this user or database; set it to on',
  )
})

test('two transactions that wait for each other: one of them is a fault, and can be done again', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url })
  const progress = await sqlProgress(views)
  const advance = (streams: readonly string[], position: bigint, halfWay: () => Promise<unknown>) =>
    views.db.transaction().execute(async (trx) => {
      for (const [n, stream] of streams.entries()) {
        await progress.advance('view', { stream, revision: Number(position), position }, trx)
        if (n === 0) await halfWay()
      }
    })
  const both = Promise.withResolvers<void>()
  let half = 0
  const meet = async (): Promise<void> => {
    if (++half === 2) both.resolve()
    await both.promise
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

test('a restart of the server costs the views a fault and nothing else', async () => {
  const url = await server().createDatabase()
  const views = openPostgresViews({ url })
  const progress = await sqlProgress(views)
  await progress.settle('view', 5n)
  const open = views.db.transaction().execute(async (trx) => {
    await progress.settle('view', 6n, trx)
    await server().halt()
    await progress.settle('view', 7n, trx)
  })
  await expect(open).rejects.toThrow(Fault)
  await expect(progress.load('view')).rejects.toThrow(Fault)
  await server().start()
  expect(await progress.load('view')).toEqual({ position: 5n })
  await views.close()
})
