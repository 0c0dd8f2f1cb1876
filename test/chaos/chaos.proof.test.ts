import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, test } from 'vitest'
import { makeTempFolder } from '../support/product.ts'
import { runCampaign, type RoundReport } from './campaign.ts'
import { type Fold, openFold } from '../support/invariants/fold.ts'
import { compareReadModels, checkReadProgress } from '../support/invariants/read-models.ts'

const ROUNDS = 2
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
const reports: RoundReport[] = []
let isClean = false

afterAll(() => {
  if (isClean) rmSync(dataDir, { recursive: true, force: true })
})

test(
  `all checks pass after each of ${ROUNDS} rounds of orders with kill -9, bad sellers and re-organisations`,
  { timeout: 2_700_000 },
  async () => {
    console.log(`seed ${seed}; to repeat: npm run proof -- faults --rounds ${ROUNDS} --seed ${seed}`)
    for await (const report of runCampaign(dataDir, seed, ROUNDS)) {
      const { violations, statuses, coverage, seconds } = report
      reports.push(report)
      expect(violations, `round ${reports.length} of seed ${seed}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${reports.length}: ${seconds.toFixed(1)} s, ${JSON.stringify(coverage)}, ${JSON.stringify(statuses)}`)
    }
    expect(reports).toHaveLength(ROUNDS)
    isClean = true
  },
)

/** These tests damage the data of the rounds above, to show that the read-model checks can fail. */
describe('the read-model checks report', () => {
  const read = async <T>(inspect: (fold: Fold) => T | Promise<T>): Promise<T> => {
    const fold = openFold(dataDir)
    try {
      await fold.catchUp()
      return await inspect(fold)
    } finally {
      await fold.close()
    }
  }

  /** In a copy, each case moves the checkpoint of one read model back to the middle of the log. */
  test.each([
    ['orders', 2],
    ['market', 2],
    ['accounts', 1],
  ] as const)('the checkpoint of the read model %s if it is behind the log', (name, version) =>
    read(async ({ events }) => {
      // The market may have stopped before its read models applied the last facts.
      const all = events.slice(0, Math.floor(events.length * 0.99))
      expect(await checkReadProgress(dataDir, all)).toEqual([])
      const copyFolder = makeTempFolder()
      for (const file of ['views.db', 'views.db-wal'].filter((one) => existsSync(join(dataDir, one))))
        cpSync(join(dataDir, file), join(copyFolder, file))
      const views = new DatabaseSync(join(copyFolder, 'views.db'))
      const consumer = `gateway.${name}.v${version}`
      const half = Number(all[Math.floor(all.length / 2)]?.position)
      views.prepare('UPDATE progress SET position = ? WHERE consumer LIKE ?').run(half, `${consumer}@%`)
      views.prepare('DELETE FROM progress_streams WHERE consumer = ? AND position > ?').run(consumer, half)
      views.close()
      expect(await checkReadProgress(copyFolder, all)).toEqual([
        expect.stringMatching(`the gateway's ${name} have not read \\d+ facts`),
      ])
    }),
  )

  test('a row that differs from the row that the facts give', () =>
    read(async ({ events }) => {
      expect(await compareReadModels(dataDir, events)).toEqual([])
      const views = new DatabaseSync(join(dataDir, 'views.db'))
      const [last] = views.prepare('SELECT id FROM gateway_orders_v2 ORDER BY id DESC LIMIT 1').all()
      views.prepare('UPDATE gateway_orders_v2 SET open = 1 - open WHERE id = ?').run(last?.['id'] ?? '')
      views.close()
      expect(await compareReadModels(dataDir, events)).toHaveLength(2)
    }))
})
