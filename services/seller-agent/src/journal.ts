import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { evolve, mayBegin, type Sale, type SaleStep } from './sale.ts'

/** What the agent must not forget: its credentials, and every step of every sale, each durable before the next is taken. */
export type Journal = {
  readonly sales: ReadonlyMap<string, Sale>
  /** Appends a step; @returns the sale after it. A sale that ended leaves `sales`. */
  record(orderId: string, at: number, step: SaleStep): Sale
  /** Whether an order that is not among `sales` may become a sale: one that ended with a channel may not. */
  mayBegin(orderId: string): boolean
  /** The sale of an order as its steps made it, also when it has ended. */
  find(orderId: string): Sale | undefined
  /** The order that a funding belongs to, of now or of long ago, and what is known of the end of its channel. */
  fundingOf(outpoint: string): { readonly orderId: string; readonly closed: 'no' | 'by-unknown' | 'yes' } | undefined
  /** Channels that are to be closed, and are not known to be. */
  toClose(): readonly string[]
  setting(name: string): string | undefined
  set(name: string, value: string): void
  close(): void
}

/** @param path of its own SQLite file, which only its owner may read: there are credentials in it */
export function openJournal(path: string): Journal {
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new DatabaseSync(path)
  // Exclusive: two agents with one journal would open two channels for one order.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return journalIn(db)
}

const SCHEMA = `
    CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS sales (order_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, order_id TEXT NOT NULL, at INTEGER NOT NULL, step TEXT NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS steps_of_order ON steps (order_id, id);
    CREATE INDEX IF NOT EXISTS open_sales ON sales (order_id) WHERE state = 'open';
    CREATE TABLE IF NOT EXISTS fundings (outpoint TEXT PRIMARY KEY, order_id TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS closings (outpoint TEXT PRIMARY KEY, closed_by TEXT) STRICT;
    CREATE TABLE IF NOT EXISTS to_close (outpoint TEXT PRIMARY KEY) STRICT;`

/** A journal in a database that is open already. */
export function journalIn(db: DatabaseSync): Journal {
  db.exec(SCHEMA)
  const insert = db.prepare('INSERT INTO steps (order_id, at, step) VALUES (?, ?, ?)')
  const upsert = db.prepare('INSERT INTO sales VALUES (?, ?) ON CONFLICT (order_id) DO UPDATE SET state = excluded.state')
  const keepFunding = db.prepare('INSERT OR IGNORE INTO fundings VALUES (?, ?)')
  const keepClosing = db.prepare('INSERT OR REPLACE INTO closings VALUES (?, ?)')
  const wantClosed = db.prepare('INSERT OR IGNORE INTO to_close VALUES (?)')
  const isClosed = db.prepare('DELETE FROM to_close WHERE outpoint = ?')
  const lookUpFunding = db.prepare(`
    SELECT f.order_id, c.outpoint IS NOT NULL AS is_closed, c.closed_by FROM fundings f LEFT JOIN closings c USING (outpoint)
    WHERE f.outpoint = ?`)
  const sales = readOpenSales(db)
  const find = (orderId: string): Sale | undefined => sales.get(orderId) ?? readSale(db, orderId)
  return {
    sales,
    find,
    record(orderId, at, step) {
      // A channel is closed long after its sale has ended, and another attempt at the order begins then.
      const before = step.type === 'Closed' || step.type === 'Seen' ? find(orderId) : sales.get(orderId)
      const sale = evolve(before, orderId, at, step)
      db.exec('BEGIN IMMEDIATE')
      try {
        insert.run(orderId, at, JSON.stringify(step))
        upsert.run(orderId, stateOf(sale))
        if (step.type === 'Prepared') keepFunding.run(step.outpoint, orderId)
        if (step.type === 'CloseWanted') wantClosed.run(step.outpoint)
        if (step.type === 'Closed') {
          keepClosing.run(step.outpoint, step.by)
          isClosed.run(step.outpoint)
        }
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
      if (sale.ended) sales.delete(orderId)
      else sales.set(orderId, sale)
      return sale
    },
    mayBegin: (orderId) => db.prepare("SELECT 1 FROM sales WHERE order_id = ? AND state <> 'lost'").get(orderId) === undefined,
    fundingOf: (outpoint) => {
      const row = lookUpFunding.get(outpoint)
      if (!row) return undefined
      const closed = row['is_closed'] === 0 ? 'no' : row['closed_by'] === null ? 'by-unknown' : 'yes'
      return { orderId: String(row['order_id']), closed }
    },
    toClose: () =>
      db
        .prepare('SELECT outpoint FROM to_close')
        .all()
        .map((row) => String(row['outpoint'])),
    setting: (name) => {
      const value = db.prepare('SELECT value FROM settings WHERE name = ?').get(name)?.['value']
      return typeof value === 'string' ? value : undefined
    },
    set: (name, value) => void db.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)').run(name, value),
    close: () => db.close(),
  }
}

/** 'lost': ended, and nothing is left of it. 'done': ended, and its channel may be there. */
const stateOf = (sale: Sale): 'open' | 'lost' | 'done' => (sale.ended ? (mayBegin(sale) ? 'lost' : 'done') : 'open')

function readSale(db: DatabaseSync, orderId: string): Sale | undefined {
  let sale: Sale | undefined
  for (const row of db.prepare('SELECT at, step FROM steps WHERE order_id = ? ORDER BY id').iterate(orderId)) {
    const { at, step } = row as { at: number; step: string } // the columns of a STRICT table
    sale = evolve(sale, orderId, at, JSON.parse(step) as SaleStep) // written by `record` alone
  }
  return sale
}

function readOpenSales(db: DatabaseSync): Map<string, Sale> {
  const sales = new Map<string, Sale>()
  const steps = db.prepare(`
    SELECT s.order_id, s.at, s.step FROM sales o CROSS JOIN steps s USING (order_id) WHERE o.state = 'open' ORDER BY s.id`)
  for (const row of steps.iterate()) {
    const { order_id: orderId, at, step } = row as { order_id: string; at: number; step: string } // the columns of a STRICT table
    sales.set(orderId, evolve(sales.get(orderId), orderId, at, JSON.parse(step) as SaleStep)) // written by `record` alone
  }
  return sales
}
