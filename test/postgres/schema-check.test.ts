import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { openConnectionPool } from '@penstock/adapters/postgres/pool.ts'
import { findPostgresSchemaFaults } from '@penstock/adapters/postgres/schema-check.ts'
import { expect, test } from 'vitest'
import { sharedPostgres } from './server.ts'
import { createEmptyDatabase, TEST_EVENT_LOGS } from './stores.ts'

const createEvent = () => ({ id: crypto.randomUUID(), type: 'PayhashClaimed', data: '{}', meta: '{}' })

/** Runs the statements on a log with two events, as a user who may change the schema. @returns the faults of the schema */
async function checkAfter(sql: string): ReturnType<typeof findPostgresSchemaFaults> {
  const url = await createEmptyDatabase(sharedPostgres)
  const store = await postgresEventStore({ logs: TEST_EVENT_LOGS, url })
  await store.append('payhash-a', 'none', [createEvent(), createEvent()])
  await store.close()
  const pool = openConnectionPool({ url })
  await pool.query(sql)
  await pool.end()
  return findPostgresSchemaFaults({ url }, TEST_EVENT_LOGS)
}

test('an unchanged log has no faults', async () => {
  expect(await checkAfter('select 1')).toEqual([])
})

test('a reverted change, and an additional index or reference, are not faults', async () => {
  const statements = `create function f() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger t before insert on event_log_settlement for each row execute function f(); drop trigger t on event_log_settlement;
    create rule r as on delete to event_log_settlement do instead nothing; drop rule r on event_log_settlement;
    create table more () inherits (event_log_settlement); drop table more;
    create table notes (event uuid references event_log_settlement (id)); create index mine on event_log_settlement (type)`
  expect(await checkAfter(statements)).toEqual([])
})

test('an event is reported if readers of its stream see it, but readers of the log do not', async () => {
  const sql = `insert into event_log_settlement (position, stream, revision, id, type, data, meta)
    select -7, stream, 2, gen_random_uuid(), type, data, meta from event_log_settlement where revision = 1`
  const [firstFault, ...furtherFaults] = await checkAfter(sql)
  expect(firstFault).toMatchObject({ stream: 'payhash-a', revision: 2 })
  expect(firstFault?.what).toMatch(/before the beginning of the log/)
  expect(furtherFaults).toEqual([])
})

test.each([
  [
    'a trigger',
    'create function f() returns trigger language plpgsql as $$ begin return null; end $$; create trigger t before insert on event_log_settlement for each row execute function f()',
    /triggers/,
  ],
  ['a rule', 'create rule r as on delete to event_log_settlement do instead nothing', /rules/],
  ['hidden rows', 'alter table event_log_settlement enable row level security', /hidden by policies/],
  [
    'revisions without a unique constraint',
    'alter table event_log_settlement drop constraint event_log_settlement_revision',
    /may contain .* twice/,
  ],
  [
    'a constraint of another kind by the same name',
    'alter table event_log_settlement drop constraint event_log_settlement_revision; alter table event_log_settlement add constraint event_log_settlement_revision unique (stream, revision, id)',
    /may contain .* twice/,
  ],
  [
    'a view instead of the table',
    'alter table event_log_settlement rename to kept; create view event_log_settlement as select * from kept',
    /no plain table/,
  ],
  ['a second table', 'create table more () inherits (event_log_settlement)', /several tables/],
])('a changed log is reported: %s', async (_, sql, what) => {
  const [firstFault, ...furtherFaults] = await checkAfter(sql)
  expect(firstFault).toMatchObject({ stream: 'log', revision: 0 })
  expect(firstFault?.what).toMatch(what)
  expect(furtherFaults).toEqual([])
})
