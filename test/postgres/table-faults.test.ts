import { postgresEventStore } from '@penstock/adapters/postgres/event-store.ts'
import { openPool } from '@penstock/adapters/postgres/pool.ts'
import { postgresTableFaults } from '@penstock/adapters/postgres/table-faults.ts'
import { expect, test } from 'vitest'
import { aServer } from './server.ts'
import { emptyTables, logs } from './stores.ts'

const server = aServer()
const anEvent = () => ({ id: crypto.randomUUID(), type: 'PayhashClaimed', data: '{}', meta: '{}' })

/** What is found of a log with two events after somebody with the right to do so has run these statements. */
async function foundAfter(sql: string): ReturnType<typeof postgresTableFaults> {
  const url = await emptyTables(server())
  const store = await postgresEventStore({ logs, url })
  await store.append('payhash-a', 'none', [anEvent(), anEvent()])
  await store.close()
  const pool = openPool({ url })
  await pool.query(sql)
  await pool.end()
  return postgresTableFaults({ url }, logs)
}

test('a log as it was made has no faults', async () => {
  expect(await foundAfter('select 1')).toEqual([])
})

test('what is gone again, or keeps the table only company, is no fault', async () => {
  const gone = `create function f() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger t before insert on event_log_settlement for each row execute function f(); drop trigger t on event_log_settlement;
    create rule r as on delete to event_log_settlement do instead nothing; drop rule r on event_log_settlement;
    create table more () inherits (event_log_settlement); drop table more;
    create table notes (event uuid references event_log_settlement (id)); create index mine on event_log_settlement (type)`
  expect(await foundAfter(gone)).toEqual([])
})

test('an event that readers of its stream find, and readers of the log do not, is named', async () => {
  const sql = `insert into event_log_settlement (position, stream, revision, id, type, data, meta)
    select -7, stream, 2, gen_random_uuid(), type, data, meta from event_log_settlement where revision = 1`
  const [found, ...others] = await foundAfter(sql)
  expect(found).toMatchObject({ stream: 'payhash-a', revision: 2 })
  expect(found?.what).toMatch(/before the beginning of the log/)
  expect(others).toEqual([])
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
    'revisions that may stand twice',
    'alter table event_log_settlement drop constraint event_log_settlement_revision',
    /may stand in it twice/,
  ],
  [
    'a constraint of another kind by the same name',
    'alter table event_log_settlement drop constraint event_log_settlement_revision; alter table event_log_settlement add constraint event_log_settlement_revision unique (stream, revision, id)',
    /may stand in it twice/,
  ],
  [
    'a view in its place',
    'alter table event_log_settlement rename to kept; create view event_log_settlement as select * from kept',
    /no plain table/,
  ],
  ['a second table', 'create table more () inherits (event_log_settlement)', /several tables/],
])('a log that is not as it was made says so: %s', async (_, sql, what) => {
  const [found, ...others] = await foundAfter(sql)
  expect(found).toMatchObject({ stream: 'log', revision: 0 })
  expect(found?.what).toMatch(what)
  expect(others).toEqual([])
})
