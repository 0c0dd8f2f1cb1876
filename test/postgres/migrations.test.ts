import { openPostgresViews } from '@penstock/adapters/postgres/views.ts'
import type { Migration } from '@penstock/ports/views.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { sharedPostgres } from './server.ts'

const create: Migration = async (db) => db.schema.createTable('things').addColumn('id', 'text').execute()
const widen: Migration = async (db) => db.schema.alterTable('things').addColumn('size', 'bigint').execute()

test('programs that start at the same time create the tables once', async () => {
  const url = await sharedPostgres.createDatabase()
  const programs = Array.from({ length: 6 }, () => openPostgresViews({ url, connections: 1 }))
  await Promise.all(programs.map((views) => views.migrate('things', [create, widen])))
  const things = programs[0]!.db.$extendTables<{ things: { id: string; size: number } }>()
  await things.insertInto('things').values({ id: 'x', size: 1_790_000_000_000 }).execute()
  expect(await things.selectFrom('things').selectAll().execute()).toEqual([{ id: 'x', size: 1_790_000_000_000 }])
  await Promise.all(programs.map((views) => views.close()))
})

test('a program that only checks its tables refuses older tables, and accepts newer tables', async () => {
  const url = await sharedPostgres.createDatabase()
  const [job, service] = [openPostgresViews({ url }), openPostgresViews({ url, schema: 'check' })]
  await expect(service.migrate('things', [create])).rejects.toThrow('at step 0, this program needs 1')
  await job.migrate('things', [create])
  await service.migrate('things', [create])
  await expect(service.migrate('things', [create, widen])).rejects.toThrow('at step 1, this program needs 2')
  await job.migrate('things', [create, widen])
  await service.migrate('things', [create])
  await expect(job.migrate('things', [create])).rejects.toThrow(Bug)
  await job.close()
  await service.close()
})

test('a failed migration step changes nothing, and the next migration begins with this step', async () => {
  const url = await sharedPostgres.createDatabase()
  const views = openPostgresViews({ url })
  const broken: Migration = async (db) => {
    await create(db)
    throw new Error('half way')
  }
  await expect(views.migrate('things', [broken])).rejects.toThrow('half way')
  await views.migrate('things', [create, widen])
  await views.close()
})

test('a migration step that needs a table in use fails soon, and succeeds when the table is free', async () => {
  const url = await sharedPostgres.createDatabase()
  const [job, service] = [openPostgresViews({ url }), openPostgresViews({ url, schema: 'check' })]
  await job.migrate('things', [create])
  await service.db.transaction().execute(async (reading) => {
    await sql`select * from things`.execute(reading)
    await expect(job.migrate('things', [create, widen])).rejects.toThrow(/lock timeout/)
  })
  await job.migrate('things', [create, widen])
  await job.close()
  await service.close()
})
