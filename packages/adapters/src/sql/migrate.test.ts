import { Bug } from '@penstock/kernel/result.ts'
import type { Migration } from '@penstock/ports/views.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { openViews } from '../sqlite/views.ts'

describe('migrations', () => {
  const views = openViews(':memory:')
  afterEach(() => views.db.schema.dropTable('things').ifExists().execute())
  type Things = { things: { id: string; size: number } }
  const create: Migration = async (db) => db.schema.createTable('things').addColumn('id', 'text').execute()
  const widen: Migration = async (db) => db.schema.alterTable('things').addColumn('size', 'bigint').execute()

  it('run each step once, and later only the new steps', async () => {
    await views.migrate('a', [create])
    await views.migrate('a', [create])
    await views.migrate('a', [create, widen])
    const db = views.db.$extendTables<Things>()
    await db.insertInto('things').values({ id: 'x', size: 1_790_000_000_000 }).execute()
    expect(await db.selectFrom('things').selectAll().execute()).toEqual([{ id: 'x', size: 1_790_000_000_000 }])
  })
  it('roll back a failed step, and refuse tables that are newer than the program', async () => {
    const broken: Migration = async (db) => {
      await create(db)
      throw new Error('half way')
    }
    await expect(views.migrate('b', [broken])).rejects.toThrow('half way')
    await views.migrate('b', [create, widen])
    await expect(views.migrate('b', [create])).rejects.toThrow(Bug)
  })
  it('keep transactions of one connection isolated', async () => {
    await views.migrate('c', [create, widen])
    const db = views.db.$extendTables<Things>()
    const counts = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        db.transaction().execute(async (trx) => {
          const before = await trx.selectFrom('things').selectAll().execute()
          await trx
            .insertInto('things')
            .values({ id: `${n}`, size: n })
            .execute()
          return before.length
        }),
      ),
    )
    expect(counts).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
