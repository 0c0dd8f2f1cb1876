import { appendFunctionOf, logTableOf } from '@penstock/adapters/postgres/event-logs.ts'
import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { roleNameOf } from '@penstock/adapters/postgres/roles.ts'
import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sqlLeases } from '@penstock/adapters/sql/leases.ts'
import { sqlProgress } from '@penstock/adapters/sql/progress.ts'
import { categoryOwners } from '@penstock/contracts/owners.ts'
import type { NewEvent } from '@penstock/ports/event-store.ts'
import { streamServices } from '@penstock/standalone/registry.ts'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { useMarketDatabase, PERMISSION_DENIED, TEST_ROLE_PREFIX, PROCESS_PERMISSIONS } from './market-database.ts'
import { sharedPostgres } from './server.ts'

const market = useMarketDatabase(() => sharedPostgres.createDatabase())
const { migrate, getServiceUrl, queryAs } = market

const event = (): NewEvent => ({ id: crypto.randomUUID(), type: 'Happened', data: '{}', meta: '{}' })
const append = (service: string, log: string) =>
  queryAs(service, `select * from ${appendFunctionOf(log)}($1, $2, $3, $4, $5, $6, $7)`, [
    [`settlement-${crypto.randomUUID()}`],
    [0],
    [1],
    [crypto.randomUUID()],
    ['HoldSettled'],
    ['{}'],
    ['{}'],
  ])

describe('the role of a service', () => {
  test('appends to the log of its own service, and to no other log', async () => {
    const logs = PROCESS_PERMISSIONS.filter(({ mayAppend }) => mayAppend).map(({ service }) => service)
    for (const { service, mayAppend } of PROCESS_PERMISSIONS)
      for (const log of logs)
        expect([service, log, await append(service, log)]).toEqual([
          service,
          log,
          mayAppend && log === service ? 1 : PERMISSION_DENIED,
        ])
  })

  test('writes to a log only by the append function, even to its own log', async () => {
    const table = logTableOf('settlement')
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
        `alter function ${appendFunctionOf('settlement')} owner to current_user`,
        `create table ours (id integer)`,
        `create schema ${roleNameOf(TEST_ROLE_PREFIX, 'settlement')}`,
        `create role another`,
        `set role ${roleNameOf(TEST_ROLE_PREFIX, service === 'gateway' ? 'settlement' : 'gateway')}`,
      ])
        expect([service, text, await queryAs(service, text)]).toEqual([service, text, PERMISSION_DENIED])
  })

  test('of the gateway cannot append by the append function for the previous release', async () => {
    const before = `select from append_to_event_log(array['settlement-y'], array[0], array[1], array[gen_random_uuid()],
      array['HoldSettled'], array['{}'], array['{}'])`
    expect(await queryAs('gateway', before)).toBe(PERMISSION_DENIED)
  })

  test('reads the logs that its service follows, and no other log', async () => {
    for (const { service, readableLogs } of PROCESS_PERMISSIONS)
      for (const { name: log } of streamServices)
        expect([service, log, await queryAs(service, `select position from ${logTableOf(log)} limit 0`)]).toEqual([
          service,
          log,
          readableLogs.includes(log) ? 0 : PERMISSION_DENIED,
        ])
  })

  test('can append and read by the event store as its service does, and the role of the audit reads all logs', async () => {
    const settlement = await postgresEventStore({ logs: categoryOwners, url: getServiceUrl('settlement') })
    const order = await postgresEventStore({ logs: categoryOwners, url: getServiceUrl('order') })
    const audit = await postgresEventStore({ logs: categoryOwners, url: getServiceUrl('audit') })
    const [holdStream, orderStream] = [`settlement-${crypto.randomUUID()}`, `order-${crypto.randomUUID()}`]
    expect(await settlement.append(holdStream, 'none', [event()])).toMatchObject({ outcome: 'appended' })
    expect(await order.append(orderStream, 'none', [event()])).toMatchObject({ outcome: 'appended' })
    expect(await order.read(holdStream)).toHaveLength(1)
    await expect(order.append(holdStream, 0, [event()])).rejects.toThrow(/permission denied/)
    await expect(settlement.read(orderStream)).rejects.toThrow(/permission denied/)
    const all = await audit.readAll('start', 1000)
    expect(all.map(({ stream }) => stream)).toEqual(expect.arrayContaining([holdStream, orderStream]))
    for (const store of [settlement, order, audit]) await store.close()
  })

  test('reads and writes only the rows of its own service in a shared table', async () => {
    const ownViews = openPostgresViews({ url: getServiceUrl('settlement'), schema: 'check' })
    const other = openPostgresViews({ url: getServiceUrl('gateway'), schema: 'check' })
    const [ownProgress, otherProgress] = [await sqlProgress(ownViews), await sqlProgress(other)]
    await ownProgress.saveCheckpoint('relay.settlement', 7n)
    await ownProgress.markHandled('settlement@channel-watcher', [9n])
    await otherProgress.saveCheckpoint('gateway.orders.v2@order', 8n)
    expect(await otherProgress.load('relay.settlement')).toEqual({ position: 'start' })
    for (const forged of ['relay.settlement', 'settlement@channel-watcher', 'settlement', 'order.x.v1'])
      await expect(otherProgress.saveCheckpoint(forged, 99n)).rejects.toThrow(/row-level security/)
    expect(await ownProgress.load('relay.settlement')).toEqual({ position: 7n })
    expect(await otherProgress.load('gateway.orders.v2@order')).toEqual({ position: 8n })
    const leases = await sqlLeases(other, () => 1)
    expect(await leases.acquire('gateway.one', 'me', 1000)).toBe(true)
    await expect(leases.acquire('relay.settlement', 'me', 1000)).rejects.toThrow(/row-level security/)
    expect(await queryAs('gateway', `delete from timers`)).toBe(0)
    expect(await queryAs('settlement', `select from gateway_accounts limit 0`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('settlement', `select from records limit 0`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('matching', `insert into last_seen (key, at) values ('k', 1)`)).toBe(1)
    expect(await queryAs('gateway', `delete from last_seen`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('quote', `select from last_seen`)).toBe(1)
    expect(await queryAs('quote', `delete from last_seen`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('gateway', `delete from limit_hits`)).toBe(0)
    expect(await queryAs('payments', `delete from webhook_attempts`)).toBe(0)
    expect(await queryAs('payments', `select from records limit 0`)).toBe(0)
    expect(await queryAs('payments', `delete from records`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('gateway', `select from webhook_attempts limit 0`)).toBe(0)
    expect(await queryAs('gateway', `delete from webhook_attempts`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('gateway', `select from webhook_feed limit 0`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('settlement', `select from webhook_events limit 0`)).toBe(PERMISSION_DENIED)
    await ownViews.close()
    await other.close()
  })

  test('of the gateway reads and replays parked keys of other services, and cannot delete them', async () => {
    const parked = `insert into bus_parked_keys (consumer, topic, key, part, reason, since, replaying) values ($1, 't', 'k', 0, 'r', 0, 0)`
    expect(await queryAs('order', parked, ['order'])).toBe(1)
    expect(await queryAs('settlement', `select from bus_parked_keys where consumer = 'order'`)).toBe(0)
    expect(await queryAs('gateway', `select from bus_parked_keys where consumer = 'order'`)).toBe(1)
    expect(await queryAs('gateway', `update bus_parked_keys set replaying = 1 where consumer = 'order'`)).toBe(1)
    expect(await queryAs('gateway', `delete from bus_parked_keys where consumer = 'order'`)).toBe(0)
    expect(await queryAs('gateway', parked, ['settlement'])).toBe(PERMISSION_DENIED)
  })

  test('of the gateway cannot forge parked messages of other services', async () => {
    const parked = `insert into bus_parked_keys (consumer, topic, key, part, reason, since, replaying) values ($1, 't', 'forged', 0, 'r', 0, 0)`
    const message = `insert into bus_parked_messages (consumer, topic, key, part, seq, at, id, headers, body) values ($1, 't', 'forged', 0, 0, 0, 'i', '{}', '{}')`
    const rewrite = `update bus_parked_messages set body = '[]' where consumer = 'order'`
    const takeOver = (table: string) => `update ${table} set consumer = 'settlement' where consumer = 'gateway'`
    const tries = async (): Promise<readonly unknown[]> => [
      await queryAs('gateway', message, ['settlement']),
      await queryAs('gateway', rewrite),
      await queryAs('gateway', takeOver('bus_parked_keys')),
      await queryAs('gateway', takeOver('bus_parked_messages')),
    ]
    for (const consumer of ['order', 'gateway']) {
      expect(await queryAs(consumer, parked, [consumer])).toBe(1)
      expect(await queryAs(consumer, message, [consumer])).toBe(1)
    }
    expect(await tries()).toEqual([PERMISSION_DENIED, PERMISSION_DENIED, PERMISSION_DENIED, PERMISSION_DENIED])
    const admin = new pg.Client({ connectionString: market.owner })
    await admin.connect()
    await admin.query(`grant update on bus_parked_keys, bus_parked_messages to ${roleNameOf(TEST_ROLE_PREFIX, 'gateway')}`)
    await admin.query(
      `create policy replayed on bus_parked_messages for update to ${roleNameOf(TEST_ROLE_PREFIX, 'gateway')} using (true)`,
    )
    await admin.end()
    expect(await queryAs('gateway', rewrite)).toBe(1)
    await migrate()
    expect(await tries()).toEqual([PERMISSION_DENIED, PERMISSION_DENIED, PERMISSION_DENIED, PERMISSION_DENIED])
  })

  test('keeps its rights in another migration, and loses additional rights', async () => {
    const client = new pg.Client({ connectionString: market.owner })
    await client.connect()
    await client.query(
      `grant execute on function ${appendFunctionOf('settlement')} to ${roleNameOf(TEST_ROLE_PREFIX, 'gateway')}`,
    )
    await client.query(`grant insert on ${logTableOf('settlement')} to ${roleNameOf(TEST_ROLE_PREFIX, 'gateway')}`)
    await migrate()
    await client.end()
    expect(await append('gateway', 'settlement')).toBe(PERMISSION_DENIED)
    expect(await append('settlement', 'settlement')).toBe(1)
    expect(await queryAs('gateway', `insert into ${logTableOf('settlement')} default values`)).toBe(PERMISSION_DENIED)
  })
})
