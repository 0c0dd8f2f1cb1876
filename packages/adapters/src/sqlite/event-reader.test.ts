import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createSqliteReader } from './event-reader.ts'
import { sqliteEventStore } from './event-store.ts'
import { openMarketLog } from './market-log.ts'

test('one scan finds the next event behind a huge empty part of the log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-reader-'))
  const log = openMarketLog(join(folder, 'market.db'))
  onTestFinished(async () => {
    await log.close()
    rmSync(folder, { recursive: true })
  })
  const event = { id: '00000000-0000-4000-8000-000000000001', type: 'Recorded', data: '{}', meta: '{}' }
  await sqliteEventStore(log).append('order-1', 'none', [event])
  const far = 2 ** 40
  log.db.exec(`update events set position = ${far} where position = 1`)
  const { events, isAtEnd } = createSqliteReader(log.db).scan(0, 10)
  expect(events.map(({ position }) => position)).toEqual([BigInt(far)])
  expect(isAtEnd).toBe(true)
})
