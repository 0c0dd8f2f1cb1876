import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { preallocateWal } from './preallocate.ts'

let folder: string
let db: DatabaseSync
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-wal-'))
  db = new DatabaseSync(join(folder, 'market.db'))
  db.exec('pragma journal_mode = wal; create table facts (id)')
})
afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

test('the write-ahead log grows by a step a call', () => {
  const size = () => statSync(join(folder, 'market.db-wal')).size
  const before = size()
  expect(preallocateWal(db, join(folder, 'market.db'))).toBe(false)
  expect(size() - before).toBe(1 << 20)
})

test('a full disk stops neither the process nor later writes', () => {
  // Each write to this device fails because it has no space.
  symlinkSync('/dev/full', join(folder, 'full-wal'))
  expect(preallocateWal(db, join(folder, 'full'))).toBe(false)
  db.exec('insert into facts values (1)')
  expect(db.prepare('select id from facts').all()).toMatchObject([{ id: 1 }])
})
