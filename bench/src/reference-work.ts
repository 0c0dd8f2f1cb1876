import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

/** What reference work has taken so far: CPU of the thread that did it, in milliseconds. */
export type Reference = { readonly runs: number; readonly cpuMs: number }

const ROWS = 1500

/**
 * Work of the market's own kinds, always as much of it: objects to text and back, hashes, rows in SQLite. Machines get slower
 * and quicker under what else they do, and both take the same from that.
 */
export function referenceWork(): { run(): void; done(): Reference; close(): void } {
  const db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE facts (id TEXT PRIMARY KEY, data TEXT)')
  const insert = db.prepare('INSERT INTO facts VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data')
  let done: Reference = { runs: 0, cpuMs: 0 }
  return {
    run() {
      const before = process.threadCpuUsage()
      let chained = ''
      for (let n = 0; n < ROWS; n++) {
        const fact = {
          orderId: `order-${n}`,
          attempt: n % 3,
          outpoint: `${chained}:${n}`,
          amounts: [n, 2 * n, 3 * n],
          told: ['a', 'b'],
        }
        const text = JSON.stringify({ ...(JSON.parse(JSON.stringify(fact)) as object), chained })
        chained = hash('sha256', text)
        insert.run(chained, text)
      }
      db.exec('DELETE FROM facts')
      const { user, system } = process.threadCpuUsage(before)
      done = { runs: done.runs + 1, cpuMs: done.cpuMs + (user + system) / 1000 }
    },
    done: () => done,
    close: () => db.close(),
  }
}
