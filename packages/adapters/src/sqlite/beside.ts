import { rm } from 'node:fs/promises'
import type { Beside, Exchanged } from '@penstock/ports/beside.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'
import { sqlProgress } from '../sql/progress.ts'
import { openViews } from './views.ts'

/** Files that a rebuild of these views is made in, while it goes on. */
const busy = new Set<string>()

/**
 * Tables in a file of their own, whose rows are copied when they are exchanged. `used`: the one connection to `path`,
 * through which everybody reads and writes.
 */
export async function sqliteBeside(path: string, used: Views): Promise<Beside> {
  const file = `${path}.beside`
  if (busy.has(file)) throw new Error('Read models are being rebuilt already; wait until it is done.')
  busy.add(file)
  const remove = async (): Promise<void> => {
    for (const end of ['', '-wal', '-shm']) await rm(file + end, { force: true })
  }
  await remove()
  const views = openViews(file)
  return {
    views,
    progress: await sqlProgress(views),
    exchange: (what, last) => exchange(used, file, what, last),
    async drop() {
      await views.close()
      await remove()
      busy.delete(file)
    },
  }
}

async function exchange({ db }: Views, file: string, { tables, consumers, positions }: Exchanged, last: () => Promise<void>) {
  await sql`attach database ${file} as beside`.execute(db)
  try {
    await db.transaction().execute(async (trx) => {
      await last()
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
