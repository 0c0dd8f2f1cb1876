import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parts } from '@penstock/cluster/parts.ts'
import { appendOf, tableOf } from '@penstock/adapters/postgres/event-logs.ts'
import { postgresBeside } from '@penstock/adapters/postgres/beside.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { roleOf } from '@penstock/adapters/postgres/roles.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { migrateGateway } from '@penstock/gateway/views/migrations.ts'
import { migrateCluster } from '@penstock/platforms/cluster.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { owners } from '@penstock/runtime/owners.ts'
import { migrateUnfinished } from '@penstock/runtime/unfinished.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aServer } from './server.ts'

const server = aServer()
const PREFIX = 'own_'
const DENIED = '42501'
const services = parts()
let [folder, owner] = ['', '']

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-roles-'))
  for (const { service } of services) await writeFile(join(folder, service), `secret of ${service}\n`)
  owner = await server().createDatabase()
  await migrate()
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** As the job does before the services start, and again at each upgrade. */
const migrate = (): Promise<void> =>
  migrateCluster(
    readConfig({
      PENSTOCK_POSTGRES_URL: owner,
      PENSTOCK_POSTGRES_ROLES: PREFIX,
      PENSTOCK_POSTGRES_ROLE_PASSWORDS: folder,
    }),
    async (views) => {
      await migrateUnfinished(views)
      await migrateGateway(views)
    },
    parts,
  )

function urlOf(service: string): string {
  const url = new URL(owner)
  url.username = roleOf(PREFIX, service)
  url.password = encodeURIComponent(`secret of ${service}`)
  return url.href
}

/** What the server answers to a statement of a service's role: the SQLSTATE where it refuses, else the number of rows. */
async function answerTo(service: string, text: string, values: readonly unknown[] = []): Promise<string | number | null> {
  const client = new pg.Client({ connectionString: urlOf(service) })
  await client.connect()
  try {
    return (await client.query(text, [...values])).rowCount
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    throw error
  } finally {
    await client.end()
  }
}

const event = (): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data: '{}', meta: '{}' })
const append = (service: string, log: string) =>
  answerTo(service, `select * from ${appendOf(log)}($1, $2, $3, $4, $5, $6, $7)`, [
    [`settlement-${crypto.randomUUID()}`],
    [0],
    [1],
    [crypto.randomUUID()],
    ['HoldSettled'],
    ['{}'],
    ['{}'],
  ])

describe('the role of a service', () => {
  test('appends to the log of its own service, and to no other', async () => {
    const logs = services.filter(({ appends }) => appends).map(({ service }) => service)
    for (const { service, appends } of services)
      for (const log of logs)
        expect([service, log, await append(service, log)]).toEqual([service, log, appends && log === service ? 1 : DENIED])
  }, 120_000)

  test('writes no log past the function that keeps its order, not even its own', async () => {
    const table = tableOf('settlement')
    for (const service of ['gateway', 'settlement'])
      for (const text of [
        `insert into ${table} (position, stream, revision, id, type, data, meta)
          values (7, 'settlement-x', 0, gen_random_uuid(), 'HoldSettled', '{}', '{}')`,
        `update ${table} set data = '{}'`,
        `delete from ${table}`,
        `truncate ${table}`,
        `drop table ${table}`,
        `select nextval('event_log_position')`,
        `select setval('event_log_position', 1)`,
        `alter function ${appendOf('settlement')} owner to current_user`,
        `create table ours (id integer)`,
        `create schema ${roleOf(PREFIX, 'settlement')}`,
        `create role another`,
        `set role ${roleOf(PREFIX, service === 'gateway' ? 'settlement' : 'gateway')}`,
      ])
        expect([service, text, await answerTo(service, text)]).toEqual([service, text, DENIED])
  }, 120_000)

  test('of the gateway does not append by what serves the release before either', async () => {
    const before = `select from append_to_event_log(array['settlement-y'], array[0], array[1], array[gen_random_uuid()],
      array['HoldSettled'], array['{}'], array['{}'])`
    expect(await answerTo('gateway', before)).toBe(DENIED)
  })

  test('reads the logs that it follows, and no other', async () => {
    for (const { service, reads } of services)
      for (const log of ['quote', 'order', 'matching', 'settlement', 'channel-watcher', 'accounts'])
        expect([service, log, await answerTo(service, `select position from ${tableOf(log)} limit 0`)]).toEqual([
          service,
          log,
          reads.includes(log) ? 0 : DENIED,
        ])
  }, 120_000)

  test('works with the store as the service does, and one that reads all of it sees all of it', async () => {
    const settlement = await postgresEventStore({ logs: owners, url: urlOf('settlement') })
    const order = await postgresEventStore({ logs: owners, url: urlOf('order') })
    const audit = await postgresEventStore({ logs: owners, url: urlOf('audit') })
    const [hold, placed] = [`settlement-${crypto.randomUUID()}`, `order-${crypto.randomUUID()}`]
    expect(await settlement.append(hold, 'none', [event()])).toMatchObject({ outcome: 'appended' })
    expect(await order.append(placed, 'none', [event()])).toMatchObject({ outcome: 'appended' })
    expect(await order.read(hold)).toHaveLength(1)
    await expect(order.append(hold, 0, [event()])).rejects.toThrow(/permission denied/)
    await expect(settlement.read(placed)).rejects.toThrow(/permission denied/)
    const all = await audit.readAll('start', 1000)
    expect(all.map(({ stream }) => stream)).toEqual(expect.arrayContaining([hold, placed]))
    for (const store of [settlement, order, audit]) await store.close()
  })

  test('sees and writes the rows of its own service where several share a table', async () => {
    const own = openPostgresViews({ url: urlOf('settlement'), schema: 'check' })
    const other = openPostgresViews({ url: urlOf('gateway'), schema: 'check' })
    const [mine, theirs] = [await sqlProgress(own), await sqlProgress(other)]
    await mine.settle('relay.settlement', 7n)
    await mine.note('settlement@channel-watcher', [9n])
    await theirs.settle('gateway.orders.v2@order', 8n)
    expect(await theirs.load('relay.settlement')).toEqual({ position: 'start' })
    for (const forged of ['relay.settlement', 'settlement@channel-watcher', 'settlement', 'order.x.v1'])
      await expect(theirs.settle(forged, 99n)).rejects.toThrow(/row-level security/)
    expect(await mine.load('relay.settlement')).toEqual({ position: 7n })
    expect(await theirs.load('gateway.orders.v2@order')).toEqual({ position: 8n })
    const leases = await sqlLeases(other, () => 1)
    expect(await leases.hold('gateway.one', 'me', 1000)).toBe(true)
    await expect(leases.hold('relay.settlement', 'me', 1000)).rejects.toThrow(/row-level security/)
    expect(await answerTo('gateway', `delete from timers`)).toBe(0)
    expect(await answerTo('settlement', `select from gateway_accounts limit 0`)).toBe(DENIED)
    expect(await answerTo('settlement', `select from records limit 0`)).toBe(DENIED)
    expect(await answerTo('matching', `insert into last_seen (key, at) values ('k', 1)`)).toBe(1)
    expect(await answerTo('gateway', `delete from last_seen`)).toBe(DENIED)
    expect(await answerTo('quote', `select from last_seen`)).toBe(1)
    expect(await answerTo('quote', `delete from last_seen`)).toBe(DENIED)
    expect(await answerTo('gateway', `delete from limit_hits`)).toBe(0)
    await own.close()
    await other.close()
  })

  test('of the gateway shows and replays what others parked, and takes nothing away from them', async () => {
    const parked = `insert into bus_parked_keys (consumer, topic, key, part, reason, since, replaying) values ($1, 't', 'k', 0, 'r', 0, 0)`
    expect(await answerTo('order', parked, ['order'])).toBe(1)
    expect(await answerTo('settlement', `select from bus_parked_keys where consumer = 'order'`)).toBe(0)
    expect(await answerTo('gateway', `select from bus_parked_keys where consumer = 'order'`)).toBe(1)
    expect(await answerTo('gateway', `update bus_parked_keys set replaying = 1 where consumer = 'order'`)).toBe(1)
    expect(await answerTo('gateway', `delete from bus_parked_keys where consumer = 'order'`)).toBe(0)
    expect(await answerTo('gateway', parked, ['settlement'])).toBe(DENIED)
  })

  test('of the gateway puts no words into the mouth of others by what is parked', async () => {
    const parked = `insert into bus_parked_keys (consumer, topic, key, part, reason, since, replaying) values ($1, 't', 'forged', 0, 'r', 0, 0)`
    const message = `insert into bus_parked_messages (consumer, topic, key, part, seq, at, id, headers, body) values ($1, 't', 'forged', 0, 0, 0, 'i', '{}', '{}')`
    const rewrite = `update bus_parked_messages set body = '[]' where consumer = 'order'`
    const takeOver = (table: string) => `update ${table} set consumer = 'settlement' where consumer = 'gateway'`
    const tries = async (): Promise<readonly unknown[]> => [
      await answerTo('gateway', message, ['settlement']),
      await answerTo('gateway', rewrite),
      await answerTo('gateway', takeOver('bus_parked_keys')),
      await answerTo('gateway', takeOver('bus_parked_messages')),
    ]
    for (const consumer of ['order', 'gateway']) {
      expect(await answerTo(consumer, parked, [consumer])).toBe(1)
      expect(await answerTo(consumer, message, [consumer])).toBe(1)
    }
    expect(await tries()).toEqual([DENIED, DENIED, DENIED, DENIED])
    const admin = new pg.Client({ connectionString: owner })
    await admin.connect()
    await admin.query(`grant update on bus_parked_keys, bus_parked_messages to ${roleOf(PREFIX, 'gateway')}`)
    await admin.query(`create policy replayed on bus_parked_messages for update to ${roleOf(PREFIX, 'gateway')} using (true)`)
    await admin.end()
    expect(await answerTo('gateway', rewrite)).toBe(1)
    await migrate()
    expect(await tries()).toEqual([DENIED, DENIED, DENIED, DENIED])
  })

  test('of the gateway makes read models anew, which belong to the owner of the tables then', async () => {
    const beside = await postgresBeside({ url: urlOf('gateway') })
    await migrateGateway(beside.views)
    await beside.exchange({ tables: ['gateway_orders_v2'], consumers: [], positions: [] }, () => Promise.resolve())
    await beside.drop()
    expect(await answerTo('gateway', 'select from gateway_orders_v2 limit 0')).toBe(0)
    expect(await answerTo('gateway', 'drop table gateway_orders_v2')).toBe(DENIED)
    for (const forged of ['progress', 'event_log_order', 'gateway_x'])
      expect(await answerTo('gateway', 'select exchange_read_models($1)', [[forged]])).toBe('P0001')
    expect(await answerTo('settlement', 'select exchange_read_models($1)', [[]])).toBe(DENIED)
  })

  test('keeps its rights through another migration, and loses what was granted beside them', async () => {
    const client = new pg.Client({ connectionString: owner })
    await client.connect()
    await client.query(`grant execute on function ${appendOf('settlement')} to ${roleOf(PREFIX, 'gateway')}`)
    await client.query(`grant insert on ${tableOf('settlement')} to ${roleOf(PREFIX, 'gateway')}`)
    await migrate()
    await client.end()
    expect(await append('gateway', 'settlement')).toBe(DENIED)
    expect(await append('settlement', 'settlement')).toBe(1)
    expect(await answerTo('gateway', `insert into ${tableOf('settlement')} default values`)).toBe(DENIED)
  })
})

test('a job that is no superuser makes the roles too', async () => {
  const client = new pg.Client({ connectionString: server().url() })
  await client.connect()
  await client.query(`create role operator login createrole password 'x'`)
  await client.query('create database managed owner operator')
  await client.end()
  const url = new URL(server().url('managed'))
  url.username = 'operator'
  url.password = 'x'
  const before = owner
  owner = url.href
  const others = parts().map((part) => ({ ...part }))
  await migrateCluster(
    readConfig({ PENSTOCK_POSTGRES_URL: owner, PENSTOCK_POSTGRES_ROLES: 'managed_' }),
    async (views) => {
      await migrateUnfinished(views)
      await migrateGateway(views)
    },
    () => others,
  )
  owner = before
}, 60_000)
