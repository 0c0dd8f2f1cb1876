import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '@penstock/kernel/result.ts'
import type { Views } from '@penstock/ports/views.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { openViews } from './views.ts'

let folder: string
let path: string
let views: Views
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-views-'))
  path = join(folder, 'views.db')
  views = openViews(path)
  await sql`create table rows (id integer primary key, text text not null)`.execute(views.db)
})
afterEach(async () => {
  await views.close()
  await rm(folder, { recursive: true })
})

const insertRow = (db: Kysely<object>) => sql`insert into rows (text) values (${'x'.repeat(50_000)})`.execute(db)

test('the write-ahead log is copied after the commits, outside of them', async () => {
  for (let n = 0; n < 20; n++) await insertRow(views.db)
  const other = new DatabaseSync(path)
  const walStatus = other.prepare('pragma wal_checkpoint(noop)')
  await waitUntil('the log is copied', () => {
    const status = walStatus.get()
    return Number(status?.['log']) > 0 && status?.['log'] === status?.['checkpointed']
  })
  other.close()
})

test('a transaction may stay open while the log waits for its copy', async () => {
  for (let n = 0; n < 20; n++) await insertRow(views.db)
  await views.db.transaction().execute(async (trx) => {
    await insertRow(trx)
    let polls = 0
    await waitUntil('the time of a copy has come', () => ++polls === 20, 10_000, 10)
    await insertRow(trx)
  })
  const { rows } = await sql<{ count: number }>`select count(*) as count from rows`.execute(views.db)
  expect(rows).toEqual([{ count: 22 }])
})

test('a full disk is a fault, and the next call succeeds when there is space again', async () => {
  await sql`pragma max_page_count = 20`.execute(views.db)
  const failed = views.db.transaction().execute(async (trx) => {
    for (let n = 0; n < 20; n++) await insertRow(trx)
  })
  await expect(failed).rejects.toThrow(Fault)
  await expect(failed).rejects.toThrow(/^the disk of the database is full: /)
  await sql`pragma max_page_count = 100000`.execute(views.db)
  await views.db.transaction().execute(insertRow)
  const { rows } = await sql<{ count: number }>`select count(*) as count from rows`.execute(views.db)
  expect(rows).toEqual([{ count: 1 }])
})

test('low-priority statements wait in order, and another statement waits for at most one of them', async () => {
  const done: string[] = []
  const ask = async (name: string): Promise<void> => {
    await sql`select 1`.execute(views.db)
    done.push(name)
  }
  const names = Array.from({ length: 50 }, (_, n) => `question ${n}`)
  const questions = names.map((name) => runWithLowPriority(() => ask(name)))
  await ask('answer')
  expect(done.indexOf('answer')).toBeLessThan(3)
  await Promise.all(questions)
  expect(done.filter((name) => name !== 'answer')).toEqual(names)
  await expect(runWithLowPriority(() => sql`select id from nowhere`.execute(views.db))).rejects.toThrow('nowhere')
  await runWithLowPriority(() => ask('after a failure'))
})
