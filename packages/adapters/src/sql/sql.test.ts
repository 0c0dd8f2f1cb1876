import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openViews } from '../sqlite/views.ts'
import { sqlLimits } from './limits.ts'
import { sqlContracts } from './sql.contract.ts'

sqlContracts(
  'SQL on SQLite',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-views-'))
    return {
      open: () => openViews(join(folder, 'views.db'), { durable: true }),
      teardown: () => rm(folder, { recursive: true }),
    }
  },
  () => {
    let now = 1_790_000_000_000
    return { now: () => now, pass: (ms) => Promise.resolve(void (now += ms)) }
  },
)

test('the row of a limit of 600 has at most one entry per second of its window', async () => {
  const views = openViews(':memory:')
  const limits = await sqlLimits(views)
  for (let n = 0; n < 700; n++) await limits.hit('key', 600, 60_000, 1_790_000_000_000 + n * 100)
  const { hits } = await views.db
    .$extendTables<{ limit_hits: { key: string; hits: string } }>()
    .selectFrom('limit_hits')
    .select('hits')
    .executeTakeFirstOrThrow()
  const entries = JSON.parse(hits) as unknown[] // an entry per instant
  expect(entries.length).toBeGreaterThanOrEqual(60)
  expect(entries.length).toBeLessThanOrEqual(61)
  await views.close()
})
