import { rm } from 'node:fs/promises'
import type { ShadowTables, SwappedNames } from '@penstock/ports/shadow-tables.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { sqlProgress } from '../sql/progress.ts'
import { openViews } from './views.ts'

/** Files of the rebuilds that are in progress. */
const rebuildsInProgress = new Set<string>()

/**
 * Opens shadow tables in a separate file. A swap copies their rows.
 * @param liveViews the only connection to `path`, which all readers and writers share
 */
export async function openSqliteShadowTables(path: string, liveViews: Views): Promise<ShadowTables> {
  const file = `${path}.beside`
  if (rebuildsInProgress.has(file)) throw new Error('Another rebuild of the read models is running; wait until it has finished.')
  rebuildsInProgress.add(file)
  const remove = async (): Promise<void> => {
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
  }
  await remove()
  const views = openViews(file)
  return {
    views,
    progress: await sqlProgress(views),
    swap: (swap, catchUp) => swapTables(liveViews, file, swap, catchUp),
    async drop() {
      await views.close()
      await remove()
      rebuildsInProgress.delete(file)
    },
  }
}

async function swapTables(
  { db }: Views,
  file: string,
  { tables, consumers, positions }: SwappedNames,
  catchUp: () => Promise<void>,
) {
  await sql`attach database ${file} as beside`.execute(db)
  try {
    await db.transaction().execute(async (trx) => {
      await catchUp()
      const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(trx))
      for (const table of tables) {
        await run(`delete from main.${table}`)
        await run(`insert into main.${table} select * from beside.${table}`)
      }
      for (const [table, names] of [
        ['progress_streams', consumers],
        ['progress', positions],
      ] as const)
        for (const name of names) {
          await sql`delete from ${sql.raw(`main.${table}`)} where consumer = ${name}`.execute(trx)
          const rows = sql`select * from ${sql.raw(`beside.${table}`)} where consumer = ${name}`
          await sql`insert into ${sql.raw(`main.${table}`)} ${rows}`.execute(trx)
        }
    })
  } finally {
    await sql`detach database beside`.execute(db)
  }
}
