import type { OrderStatus } from '@penstock/kernel/order-status.ts'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { orderLifecycle } from '@penstock/order/order.ts'
import { scratch } from '../harness/product.ts'
import { campaign, type RoundReport } from './campaign.ts'
import { type Seen, seenIn, unpaid } from './changed.ts'
import { moneyChanges } from './changed-money.ts'
import { orderChanges } from './changed-orders.ts'
import { type Fold, openFold } from './fold.ts'
import { faultsIn } from './look.ts'
import { orderFaults } from './orders.ts'
import { foldedFaults, uncompared, unreadFaults } from './read-models.ts'
import { lacking } from './struck.ts'
import type { Wait } from './waiting.ts'

const ROUNDS = 8
const seed = Number(process.env['PENSTOCK_TEST_SEED'] ?? Date.now() % 2 ** 31)
const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
const reports: RoundReport[] = []
let clean = false

afterAll(() => {
  if (clean) rmSync(dataDir, { recursive: true, force: true })
})

test(
  `${ROUNDS} rounds of orders under kill -9, bad sellers and re-orgs leave nothing undone`,
  { timeout: 1_200_000 },
  async () => {
    console.log(`seed ${seed}; again: npm run faults -- --rounds ${ROUNDS} --seed ${seed}`)
    for await (const report of campaign(dataDir, seed, ROUNDS)) {
      const { faults, statuses, struck, seconds } = report
      reports.push(report)
      expect(faults, `round ${reports.length} of seed ${seed}; the data stays in ${dataDir}`).toEqual([])
      console.log(`round ${reports.length}: ${seconds.toFixed(1)} s, ${JSON.stringify(struck)}, ${JSON.stringify(statuses)}`)
    }
    expect(reports).toHaveLength(ROUNDS)
    expect(lacking(reports)).toEqual([])
    clean = true
  },
)

/** The same data with one thing changed has to be noticed, or the rounds above prove nothing. */
describe('what the look in the end notices', () => {
  const read = async <T>(look: (fold: Fold) => T | Promise<T>): Promise<T> => {
    const fold = openFold(dataDir)
    try {
      await fold.catchUp()
      return await look(fold)
    } finally {
      await fold.close()
    }
  }

  let seen: Seen
  beforeAll(async () => {
    seen = await read((fold) => seenIn(dataDir, fold, reports))
  })

  test('nothing in a true history', () => expect(faultsIn(seen)).toEqual([]))

  test.each([...moneyChanges, ...orderChanges])('%s', (_, change, sentence) => {
    expect(faultsIn(change(seen))).toContainEqual(expect.stringMatching(sentence))
  })

  test('every status of an order, unless it is over or somebody may be waited for', () => {
    const book = unpaid(seen.books)
    const { edges } = orderLifecycle
    const statuses = new Set(edges.map(([, , to]) => to))
    const everybody = ['settlement', 'channel'].map((category) => ({
      stream: `${category}-${book.id}`,
      party: 'somebody',
      asks: 'it',
    }))
    const lost = (status: string, waits: readonly Wait[]): boolean =>
      orderFaults([{ ...book, status: status as OrderStatus }], waits).length > 0 // the machine's names are the read model's
    const isOver = (status: string): boolean => edges.every(([from, , to]) => from !== status || to === status)
    // An order that is sold is followed to the end of its lease.
    for (const status of statuses) expect([status, lost(status, [])]).toEqual([status, !isOver(status)])
    const waiting = [...statuses].filter((status) => !isOver(status) && !lost(status, everybody))
    expect(waiting.toSorted()).toEqual(['VALID_CHANNEL_OPENING', 'WAITING_FOR_BUYER_PAYMENT'])
  })

  test('a table that no projection names', () => {
    expect(uncompared(['gateway_orders', 'gateway_news', 'gateway_commands'], ['gateway_orders'])).toEqual([
      expect.stringMatching(/makes gateway_news/),
    ])
  })

  /** In a copy, one of each kind stands where it stood when half of the rounds were over. */
  test.each([
    ['orders', 2],
    ['market', 1],
    ['accounts', 1],
  ] as const)('read models of %s that stand still', (name, version) =>
    read(async ({ events }) => {
      // What came in the market's last moments it may have left to its next start.
      const all = events.slice(0, Math.floor(events.length * 0.99))
      expect(await unreadFaults(dataDir, all)).toEqual([])
      const copy = scratch()
      for (const file of ['views.db', 'views.db-wal'].filter((one) => existsSync(join(dataDir, one))))
        cpSync(join(dataDir, file), join(copy, file))
      const views = new DatabaseSync(join(copy, 'views.db'))
      const consumer = `gateway.${name}.v${version}`
      const half = Number(all[Math.floor(all.length / 2)]?.position)
      views.prepare('UPDATE progress SET position = ? WHERE consumer LIKE ?').run(half, `${consumer}@%`)
      views.prepare('DELETE FROM progress_streams WHERE consumer = ? AND position > ?').run(consumer, half)
      views.close()
      expect(await unreadFaults(copy, all)).toEqual([expect.stringMatching(`the gateway's ${name} have not read \\d+ facts`)])
    }),
  )

  test('a row that the facts do not make', () =>
    read(async ({ events }) => {
      expect(await foldedFaults(dataDir, events)).toEqual([])
      const views = new DatabaseSync(join(dataDir, 'views.db'))
      const [last] = views.prepare('SELECT id FROM gateway_orders_v2 ORDER BY id DESC LIMIT 1').all()
      views.prepare('UPDATE gateway_orders_v2 SET open = 1 - open WHERE id = ?').run(last?.['id'] ?? '')
      views.close()
      expect(await foldedFaults(dataDir, events)).toHaveLength(2)
    }))
})
