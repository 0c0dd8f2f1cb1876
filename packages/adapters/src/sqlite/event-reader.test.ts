import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventReader } from './event-reader.ts'
import { sqliteEventStore } from './event-store.ts'
import { openLog } from './log.ts'

test('however wide an empty part of the log is, one scan comes to the event behind it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-reader-'))
  const log = openLog(join(folder, 'market.db'))
  onTestFinished(async () => {
    await log.close()
    rmSync(folder, { recursive: true })
  })
  const event = { id: '00000000-0000-4000-8000-000000000001', type: 'Noted', data: '{}', meta: '{}' }
  await sqliteEventStore(log).append('order-1', 'none', [event])
  const far = 2 ** 40
  log.db.exec(`update events set position = ${far} where position = 1`)
  const { events, done } = eventReader(log.db).scan(0, 10)
  expect(events.map(({ position }) => position)).toEqual([BigInt(far)])
  expect(done).toBe(true)
})
