import { chmodSync, closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { evolve, mayBegin, type SaleState, type SaleStep } from './sale.ts'

/** The durable state of the agent: its credentials and all steps of its sales. Each step is durable before the next begins. */
export type Journal = {
  readonly sales: ReadonlyMap<string, SaleState>
  /** Appends a step; @returns the sale after it. A sale that ended leaves `sales`. */
  record(orderId: string, at: number, step: SaleStep): SaleState
  /** Whether an order that is not in `sales` may begin a sale. An order whose sale ended with a channel may not. */
  mayBegin(orderId: string): boolean
  /** The sale of an order, also after its end. */
  findSale(orderId: string): SaleState | undefined
  /** The order of a funding, also after the end of its sale. `closed`: whether the channel's end and closing party are known. */
  findFunding(outpoint: string): { readonly orderId: string; readonly closed: 'no' | 'by-unknown' | 'yes' } | undefined
  /** Outpoints of the channels that the agent has to close, and that are not recorded as closed. */
  listChannelsToClose(): readonly string[]
  getSetting(name: string): string | undefined
  saveSetting(name: string, value: string): void
  close(): void
}

/** @param path of the journal's SQLite file, which only its owner may read, because it contains credentials */
export function openJournal(path: string): Journal {
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const db = new DatabaseSync(path)
  // The lock is exclusive, because two agents with one journal would open two channels for one order.
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return createJournal(db)
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

/** Creates a journal in an open database. */
export function createJournal(db: DatabaseSync): Journal {
  db.exec(SCHEMA)
  const insertStep = db.prepare('INSERT INTO steps (order_id, at, step) VALUES (?, ?, ?)')
  const upsertSale = db.prepare('INSERT INTO sales VALUES (?, ?) ON CONFLICT (order_id) DO UPDATE SET state = excluded.state')
  const insertFunding = db.prepare('INSERT OR IGNORE INTO fundings VALUES (?, ?)')
  const insertClosing = db.prepare('INSERT OR REPLACE INTO closings VALUES (?, ?)')
  const insertToClose = db.prepare('INSERT OR IGNORE INTO to_close VALUES (?)')
  const deleteToClose = db.prepare('DELETE FROM to_close WHERE outpoint = ?')
  const selectFunding = db.prepare(`
    SELECT f.order_id, c.outpoint IS NOT NULL AS is_closed, c.closed_by FROM fundings f LEFT JOIN closings c USING (outpoint)
    WHERE f.outpoint = ?`)
  const sales = readOpenSales(db)
  const findSale = (orderId: string): SaleState | undefined => sales.get(orderId) ?? readSale(db, orderId)
  return {
    sales,
    findSale,
    record(orderId, at, step) {
      // These two steps may follow the end of a sale: its channel is closed later, or another attempt at the order begins.
      const before = step.type === 'Closed' || step.type === 'Seen' ? findSale(orderId) : sales.get(orderId)
      const sale = evolve(before, orderId, at, step)
      db.exec('BEGIN IMMEDIATE')
      try {
        insertStep.run(orderId, at, JSON.stringify(step))
        upsertSale.run(orderId, saleStatusOf(sale))
        if (step.type === 'Prepared') insertFunding.run(step.outpoint, orderId)
        if (step.type === 'CloseWanted') insertToClose.run(step.outpoint)
        if (step.type === 'Closed') {
          insertClosing.run(step.outpoint, step.by)
          deleteToClose.run(step.outpoint)
        }
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
      if (sale.hasEnded) sales.delete(orderId)
      else sales.set(orderId, sale)
      return sale
    },
    mayBegin: (orderId) => db.prepare("SELECT 1 FROM sales WHERE order_id = ? AND state <> 'lost'").get(orderId) === undefined,
    findFunding: (outpoint) => {
      const row = selectFunding.get(outpoint)
      if (!row) return undefined
      const closed = row['is_closed'] === 0 ? 'no' : row['closed_by'] === null ? 'by-unknown' : 'yes'
      return { orderId: String(row['order_id']), closed }
    },
    listChannelsToClose: () =>
      db
        .prepare('SELECT outpoint FROM to_close')
        .all()
        .map((row) => String(row['outpoint'])),
    getSetting: (name) => {
      const value = db.prepare('SELECT value FROM settings WHERE name = ?').get(name)?.['value']
      return typeof value === 'string' ? value : undefined
    },
    saveSetting: (name, value) => void db.prepare('INSERT OR REPLACE INTO settings VALUES (?, ?)').run(name, value),
    close: () => db.close(),
  }
}

/** 'lost': the sale ended without a funding. 'done': the sale ended, and its channel may exist. */
const saleStatusOf = (sale: SaleState): 'open' | 'lost' | 'done' => (sale.hasEnded ? (mayBegin(sale) ? 'lost' : 'done') : 'open')

function readSale(db: DatabaseSync, orderId: string): SaleState | undefined {
  let sale: SaleState | undefined
  for (const row of db.prepare('SELECT at, step FROM steps WHERE order_id = ? ORDER BY id').iterate(orderId)) {
    const { at, step } = row as { at: number; step: string } // the columns of a STRICT table
    sale = evolve(sale, orderId, at, JSON.parse(step) as SaleStep) // written by `record` alone
  }
  return sale
}

function readOpenSales(db: DatabaseSync): Map<string, SaleState> {
  const sales = new Map<string, SaleState>()
  const steps = db.prepare(`
    SELECT s.order_id, s.at, s.step FROM sales o CROSS JOIN steps s USING (order_id) WHERE o.state = 'open' ORDER BY s.id`)
  for (const row of steps.iterate()) {
    const { order_id: orderId, at, step } = row as { order_id: string; at: number; step: string } // the columns of a STRICT table
    sales.set(orderId, evolve(sales.get(orderId), orderId, at, JSON.parse(step) as SaleStep)) // written by `record` alone
  }
  return sales
}
