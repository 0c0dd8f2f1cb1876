import { openPostgresShadowTables } from '@penstock/adapters/postgres/shadow-tables.ts'
import { READ_MODEL_FUNCTIONS } from '@penstock/adapters/postgres/read-models.ts'
import { MIGRATION_LOCK } from '@penstock/adapters/postgres/views.ts'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import { createGatewayProjections } from '@penstock/gateway/projections.ts'
import { migrateGateway } from '@penstock/gateway/migrations.ts'
import { CHAIN_START, sealFacts } from '@penstock/runtime/commands/event-codec.ts'
import { rebuildProjections } from '@penstock/runtime/views/rebuild.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { useMarketDatabase, PERMISSION_DENIED, TEST_ROLE_PREFIX } from './market-database.ts'
import { createEarlierFunctions } from './earlier-functions.ts'
import { makeUnique, sharedPostgres } from './server.ts'

const REFUSED = 'P0001'
const GATEWAY = `${TEST_ROLE_PREFIX}gateway`
const [OPERATOR, DATABASE] = [makeUnique('operator'), makeUnique('managed')]

/** The owner of the tables is not a superuser. It owns its database and may create roles. */
const { queryAs, asSuperuser, migrate, getServiceUrl } = useMarketDatabase(async () => {
  const client = new pg.Client({ connectionString: sharedPostgres.url() })
  await client.connect()
  await client.query(`create role ${OPERATOR} login createrole password 'x'`)
  await client.query(`create database ${DATABASE} owner ${OPERATOR}`)
  await client.end()
  const url = new URL(sharedPostgres.url(DATABASE))
  url.username = OPERATOR
  url.password = 'x'
  return url.href
})

/** A session of the gateway, or of an attacker who has its password. */
let session: pg.Client
beforeEach(async () => {
  session = new pg.Client({ connectionString: getServiceUrl('gateway') })
  session.on('error', () => undefined)
  await session.connect()
})
afterEach(() => session.end())

const codeOf = (text: string, values: readonly unknown[] = []): Promise<unknown> =>
  session.query(text, [...values]).then(
    () => 'done',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  )

/** Reads the full definition of each table of the gateway, with its owner and rights. */
const readDefinitions = () =>
  asSuperuser(`
    select c.relname, pg_get_userbyid(c.relowner) as owner, c.relacl::text,
      (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid)) order by a.attnum)
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
      (select json_agg(pg_get_indexdef(i.indexrelid) order by pg_get_indexdef(i.indexrelid))
        from pg_index i where i.indrelid = c.oid) as indexes,
      (select json_agg(json_build_array(o.conname, pg_get_constraintdef(o.oid)) order by o.conname)
        from pg_constraint o where o.conrelid = c.oid) as constraints
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname like 'gateway%'
    order by 1`)

const payhash = contractOf('payhash')
/** A projection that writes one row per fact into a table of the gateway. */
const claimProjection: Projection = {
  name: 'claims',
  version: 1,
  from: [payhash],
  tables: ['gateway_slot_locks'],
  migrate: migrateGateway,
  apply: async (trx, events) => {
    const table = trx.$extendTables<{ gateway_slot_locks: { name: string; at: number } }>()
    const rows = events.map(({ aggregateId: name, at }) => ({ name, at }))
    await table.insertInto('gateway_slot_locks').values(rows).execute()
  },
}

describe('a gateway with a separate role', () => {
  test('rebuilds read models repeatedly, and the definitions of their tables do not change', async () => {
    const store = memoryEventStore()
    const all = [...createGatewayProjections({ notifyCommitted: () => undefined }, String), claimProjection]
    const before = await readDefinitions()
    expect(before.length).toBeGreaterThan(15)
    for (const name of ['a', 'b', 'c']) {
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: '00000000-0000-4000-8000-000000000001' } }
      const meta = { command: name, at: 1, correlation: name, trace: 't' }
      const sealed = sealFacts({ stream: `payhash-${name}`, revision: 0, chain: CHAIN_START }, [{ id: name, fact, meta }])
      await store.append(`payhash-${name}`, 'none', sealed.events)
      await rebuildProjections('gateway', all, store, await openPostgresShadowTables({ url: getServiceUrl('gateway') }))
      expect(await readDefinitions()).toEqual(before)
    }
    expect(await queryAs('gateway', 'select from gateway_slot_locks')).toBe(3)
    expect(await asSuperuser(`select nspname from pg_namespace where nspname = 'views_beside'`)).toEqual([])
  })

  test('keeps identities, sequences, checks and generated columns in a rebuild', async () => {
    await asSuperuser(
      `set role ${OPERATOR}`,
      `create table gateway_odd (id bigint generated always as identity primary key, no serial, half integer default 1 + 1,
        twice integer generated always as (half * 2) stored, check (half > 0), unique nulls not distinct (half, no))`,
      'create unique index gateway_odd_few on gateway_odd (lower(half::text), twice desc) where half > 3',
    )
    await migrate()
    const before = await readDefinitions()
    for (const round of [1, 2, 3]) {
      const shadowTables = await openPostgresShadowTables({ url: getServiceUrl('gateway') })
      for (const half of [3, 4]) await session.query('insert into views_beside.gateway_odd (half) values ($1)', [half])
      await shadowTables.swap({ tables: ['gateway_odd'], consumers: [], positions: [] }, () => Promise.resolve())
      await shadowTables.drop()
      await session.query('insert into gateway_odd (half) values (5)')
      expect((await session.query('select id::integer, no, half, twice from gateway_odd order by id')).rows).toEqual([
        { id: 1, no: 1, half: 3, twice: 6 },
        { id: 2, no: 2, half: 4, twice: 8 },
        { id: 3, no: 3, half: 5, twice: 10 },
      ])
      expect([round, await readDefinitions()]).toEqual([round, before])
    }
    await asSuperuser('drop table gateway_odd')
  })

  test('cannot add code to its tables, neither in the shadow schema nor in the schema of the live tables', async () => {
    // This setting of the session would change statements that the functions of the owner build.
    await session.query('set quote_all_identifiers = on')
    await session.query('select open_read_models()')
    await session.query(`create function pg_temp.mine(text) returns text language sql immutable as 'select $1'`)
    await session.query(`create function pg_temp.fires() returns trigger language plpgsql as 'begin return new; end'`)
    for (const schema of ['views_beside', 'public']) {
      const table = `${schema}.gateway_nodes`
      for (const text of [
        `create table ${schema}.gateway_x (id text)`,
        `create function ${schema}.mine(text) returns text language sql immutable as 'select $1'`,
        `create view ${schema}.v as select 1`,
        `create domain ${schema}.d as text`,
        `create operator ${schema}.### (function = pg_temp.mine, rightarg = text)`,
        `create index on ${table} (pg_temp.mine(pubkey))`,
        `create trigger t before insert on ${table} for each row execute function pg_temp.fires()`,
        `create rule r as on insert to ${table} do also select pg_temp.mine('x')`,
        `create policy p on ${table} using (pg_temp.mine(pubkey) = '')`,
        `create statistics ${schema}.s on (pg_temp.mine(pubkey)), state from ${table}`,
        `create statistics s on (pg_temp.mine(pubkey)), state from ${table}`,
        `alter table ${table} alter pubkey set default pg_temp.mine('x')`,
        `alter table ${table} add check (pg_temp.mine(pubkey) <> '')`,
        `alter table ${table} enable row level security`,
        `alter table ${table} owner to ${GATEWAY}`,
        `create temp table heir () inherits (${table})`,
        `drop table ${table}`,
        `truncate ${table}`,
        `alter schema ${schema} owner to ${GATEWAY}`,
        `drop schema ${schema} cascade`,
      ])
        expect([text, await codeOf(text)]).toEqual([text, PERMISSION_DENIED])
    }
    for (const text of [
      `update views_beside.schema_migrations set steps = 0`,
      `alter function open_read_models() owner to ${GATEWAY}`,
      `alter function exchange_read_models(text[]) set search_path = pg_temp`,
      `set role ${OPERATOR}`,
    ])
      expect([text, await codeOf(text)]).toEqual([text, PERMISSION_DENIED])
    for (const other of ['progress', 'schema_migrations', 'event_log_order', 'gateway_x', 'gateway_nodes; --', null])
      expect([other, await codeOf('select exchange_read_models($1)', [[other]])]).toEqual([other, REFUSED])
    expect(await queryAs('settlement', 'select exchange_read_models($1)', [[]])).toBe(PERMISSION_DENIED)
    await session.query('select drop_read_models()')
    expect(await codeOf('select exchange_read_models($1)', [['gateway_nodes']])).toBe(REFUSED)
  })

  test('swaps only tables of the owner, in a shadow schema of the owner', async () => {
    await session.query('select open_read_models()')
    await asSuperuser(
      `drop table views_beside.gateway_nodes`,
      `create table views_beside.gateway_nodes (like gateway_nodes)`,
      `alter table views_beside.gateway_nodes owner to ${GATEWAY}`,
    )
    expect(await codeOf('select exchange_read_models($1)', [['gateway_nodes']])).toBe(REFUSED)
    await asSuperuser(`alter table views_beside.schema_migrations owner to ${GATEWAY}`)
    expect(await codeOf('select exchange_read_models($1)', [['gateway_sellers_v2']])).toBe(REFUSED)
    await asSuperuser(
      `alter table views_beside.schema_migrations owner to ${OPERATOR}`,
      'alter schema views_beside owner to penstock',
    )
    expect(await codeOf('select exchange_read_models($1)', [['gateway_sellers_v2']])).toBe(REFUSED)
    await asSuperuser(`alter schema views_beside owner to ${OPERATOR}`)
    // The next rebuild removes every table that remains in the shadow schema.
    await session.query('select open_read_models()')
    await session.query('select exchange_read_models($1)', [['gateway_nodes']])
    await session.query('select drop_read_models()')
  })

  test('does not revert a migration that ran during the rebuild', async () => {
    const job = new pg.Client({ connectionString: sharedPostgres.url(DATABASE) })
    await job.connect()
    await job.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await expect(session.query('select open_read_models()')).rejects.toThrow(/being migrated; begin the rebuild again/)
    await job.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK])
    await session.query('select open_read_models()')
    const exchange = () => session.query('select exchange_read_models($1)', [['gateway_nodes']])
    await job.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await expect(exchange()).rejects.toThrow(/being migrated; begin the rebuild again/)
    await job.end()
    await asSuperuser(`insert into schema_migrations values ('gateway next', 1)`)
    await expect(exchange()).rejects.toThrow(/were migrated meanwhile; begin the rebuild again/)
    await asSuperuser(`delete from schema_migrations where name = 'gateway next'`)
    await session.query('select drop_read_models()')
  })
})

/** Creates, by functions of an earlier release, a table of the owner whose index calls a function of the gateway. */
async function createGatewayTables(schema: string): Promise<void> {
  await asSuperuser(
    `set role ${OPERATOR}`,
    `grant ${GATEWAY} to ${OPERATOR}`,
    ...READ_MODEL_FUNCTIONS.map((name) => `drop function ${name}`),
    ...createEarlierFunctions('public'),
    ...READ_MODEL_FUNCTIONS.map((name) => `grant execute on function ${name} to ${GATEWAY}`),
    `update schema_migrations set steps = 1 where name = 'read models beside'`,
    'create table if not exists ran (as_user text)',
    'truncate ran',
    'grant insert on ran to public',
  )
  for (const text of [
    'select open_read_models()',
    `create function ${schema}.note() returns void language sql as 'insert into public.ran values (current_user)'`,
    `create function ${schema}.mine(t text) returns text language plpgsql immutable as
      'begin perform ${schema}.note(); return t; end'`,
    'create table views_beside.gateway_sellers_v2 (pubkey text primary key, live integer not null, view text not null)',
    `create index on views_beside.gateway_sellers_v2 (${schema}.mine(view))`,
    `insert into views_beside.gateway_sellers_v2 values ('02', 1, 'v')`,
    `select exchange_read_models('{gateway_sellers_v2}')`,
  ])
    await session.query(text)
}
/** Analyzes the table as autovacuum does. @returns the roles with whose rights the gateway's function ran */
async function listUsersAtAnalyze(): Promise<unknown> {
  await asSuperuser('truncate ran', `set role ${OPERATOR}`, 'analyze gateway_sellers_v2')
  return asSuperuser('select distinct as_user from ran')
}

describe('a database with tables that the gateway created', () => {
  test('runs no function of the gateway after a migration', async () => {
    await createGatewayTables('views_beside')
    expect(await listUsersAtAnalyze()).toEqual([{ as_user: OPERATOR }])
    await migrate()
    expect(await listUsersAtAnalyze()).toEqual([])
    expect(await queryAs('gateway', 'select from gateway_sellers_v2')).toBe(1)
  })

  test('is not migrated while an index uses a temporary function of a session of the gateway', async () => {
    await session.query('create temp table first ()')
    const { rows } = await session.query<{ own: string }>('select pg_my_temp_schema()::regnamespace::text as own')
    await createGatewayTables(rows[0]!.own)
    const indexes = async () => (await asSuperuser(`select from pg_index where indrelid = 'gateway_sellers_v2'::regclass`)).length
    expect(await indexes()).toBe(2)
    await expect(migrate()).rejects.toThrow(/gateway_sellers_v2 is made of .*mine.*end the sessions of the gateway/)
    await asSuperuser(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = '${GATEWAY}'`)
    await migrate()
    expect(await indexes()).toBe(1)
  })
})

describe('an owner without superuser rights', () => {
  test('revokes the rights that it may revoke', async () => {
    await asSuperuser(
      `set role ${OPERATOR}`,
      `grant insert on event_log_settlement to ${GATEWAY}`,
      `grant ${TEST_ROLE_PREFIX}settlement to ${GATEWAY}`,
      `grant create on schema public to public`,
    )
    await migrate()
    expect(await queryAs('gateway', 'insert into event_log_settlement default values')).toBe(PERMISSION_DENIED)
    expect(await queryAs('gateway', `set role ${TEST_ROLE_PREFIX}settlement`)).toBe(PERMISSION_DENIED)
    expect(await queryAs('gateway', 'create table mine ()')).toBe(PERMISSION_DENIED)
  })

  test.each([
    ['an attribute', `alter role ${GATEWAY} bypassrls`, `alter role ${GATEWAY} nobypassrls`],
    [
      'a membership',
      `grant pg_read_all_data to ${GATEWAY}`,
      `revoke pg_read_all_data from ${GATEWAY} granted by penstock cascade`,
    ],
    [
      'a function of the server',
      `grant execute on function pg_read_file(text) to ${GATEWAY}`,
      `revoke all on routine pg_catalog.pg_read_file(pg_catalog.text) from ${GATEWAY} cascade`,
    ],
    [
      'a table of the server',
      `grant select on pg_authid to ${GATEWAY}`,
      `revoke all on table pg_catalog.pg_authid from ${GATEWAY} cascade`,
    ],
  ])('refuses a right that it may not revoke, and prints the statement that revokes it: %s', async (_, grant, text) => {
    await asSuperuser(grant)
    await expect(migrate()).rejects.toThrow(`may not take that away. As a superuser run: ${text};`)
    await asSuperuser(text)
    await migrate()
  })
})
