import { Fault } from '@penstock/kernel/result.ts'
import { createPreparer, openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { sharedPostgres } from './server.ts'

type Tables = { things: { id: number; name: string } }

async function openThings() {
  const views = openPostgresViews({ url: await sharedPostgres.createDatabase(), connections: 1 })
  onTestFinished(() => views.close())
  await sql`create table things (id integer primary key, name text not null)`.execute(views.db)
  return views.db.$extendTables<Tables>()
}

test('a frequent statement is prepared once for each connection, and other statements are not', async () => {
  const db = await openThings()
  for (let id = 0; id < 20; id++)
    await db
      .insertInto('things')
      .values({ id, name: `thing ${id}` })
      .execute()
  await db.selectFrom('things').selectAll().where('id', '=', 3).execute()
  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db)
  expect(rows).toEqual([{ statement: 'insert into "things" ("id", "name") values ($1, $2)' }])
})

test('a prepared statement whose table has got another column throws a Fault once, and then succeeds', async () => {
  const db = await openThings()
  await db.insertInto('things').values({ id: 1, name: 'first' }).execute()
  const find = () => db.selectFrom('things').selectAll().where('id', '=', 1).execute()
  for (let use = 0; use < 20; use++) await find()
  await sql`alter table things add column weight integer`.execute(db)
  await expect(find()).rejects.toThrow(Fault)
  expect(await find()).toEqual([{ id: 1, name: 'first', weight: null }])
})

test('no more than two hundred statements get a name', () => {
  const prepare = createPreparer()
  const texts = Array.from({ length: 300 }, (_, n) => `select $1 + ${n}`)
  for (let use = 0; use < 10; use++) for (const text of texts) prepare(text)
  const named = texts.map((text) => prepare(text)).filter((query) => typeof query !== 'string')
  expect(new Set(named.map(({ name }) => name)).size).toBe(200)
})
