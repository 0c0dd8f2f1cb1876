import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

/** Totals of the reference workload: runs, and CPU of its thread in milliseconds. */
export type ReferenceUsage = { readonly runs: number; readonly cpuMs: number }

const ROWS = 1500

/**
 * Opens a fixed amount of work like the market's own: JSON texts, hashes and rows in SQLite. Other load on the machine slows
 * the market and this workload alike, so the ratio of their times stays comparable.
 */
export function openReferenceWorkload(): { run(): void; readUsage(): ReferenceUsage; close(): void } {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE facts (id TEXT PRIMARY KEY, data TEXT)')
  const insert = db.prepare('INSERT INTO facts VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data')
  let usage: ReferenceUsage = { runs: 0, cpuMs: 0 }
  return {
    run() {
      const cpuBefore = process.threadCpuUsage()
      let chain = ''
      for (let n = 0; n < ROWS; n++) {
        const fact = {
          orderId: `order-${n}`,
          attempt: n % 3,
          outpoint: `${chain}:${n}`,
          amounts: [n, 2 * n, 3 * n],
          told: ['a', 'b'],
        }
        const text = JSON.stringify({ ...(JSON.parse(JSON.stringify(fact)) as object), chained: chain })
        chain = hash('sha256', text)
        insert.run(chain, text)
      }
      db.exec('DELETE FROM facts')
      const { user, system } = process.threadCpuUsage(cpuBefore)
      usage = { runs: usage.runs + 1, cpuMs: usage.cpuMs + (user + system) / 1000 }
    },
    readUsage: () => usage,
    close: () => db.close(),
  }
}
