import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Fold, openFold } from '../faults/fold.ts'
import { readModelFaults } from '../faults/read-models.ts'

/** What is kept beside the log, which a refused request must not change either. */

/** Money, channels, nodes and the chain of the simulated network; what somebody may ask for without paying is not among it. */
const OWN = ['nodes', 'channels', 'txs', 'outputs', 'payments', 'blocks'] as const
export type World = ReadonlyMap<string, string>

export const worldOf = (dataDir: string): World =>
  reading(dataDir, 'simnet.db', (db) => {
    const rowsOf = (table: string): string => {
      const statement = db.prepare(`SELECT * FROM ${table}`)
      statement.setReadBigInts(true)
      return JSON.stringify(statement.all(), (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    }
    return new Map(OWN.map((table) => [table, rowsOf(table)]))
  })

/** @returns a sentence for each table of the network that is another than it was, as long as no operator plays in it */
export const movedIn = (before: World, after: World): readonly string[] =>
  [...before].filter(([table, rows]) => after.get(table) !== rows).map(([table]) => `the network's ${table} have changed`)

/**
 * Texts of persons stand in records, and each belongs to a fact; read models are what the facts make.
 * @param withinMs until when read models may be behind the facts
 * @param withdrawn how many orders were given up before they were ready: they count against the limits for a while
 * @returns a sentence for each record of which no fact speaks, for each row that is another than the facts make it, and for
 * each that the gateway keeps of nothing
 */
export async function keptFaults(dataDir: string, withinMs: number, withdrawn = 0): Promise<readonly string[]> {
  const fold = openFold(dataDir)
  try {
    for (const end = performance.now() + withinMs; ; await sleep(200)) {
      await fold.catchUp()
      const faults = [
        ...strayRecords(dataDir, fold),
        ...slotFaults(dataDir, withdrawn),
        ...(await readModelFaults(dataDir, fold.events)),
      ]
      if (faults.length === 0 || performance.now() > end) return faults
    }
  } finally {
    await fold.close()
  }
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

function strayRecords(dataDir: string, { events }: Fold): readonly string[] {
  const named = new Set(events.flatMap(({ fact }) => JSON.stringify(fact.data).match(UUID) ?? []))
  return reading(dataDir, 'records.db', (db) => db.prepare('SELECT id, kind FROM records').all())
    .filter(({ id }) => !named.has(String(id)))
    .map(({ id, kind }) => `no fact speaks of record ${String(id)} (${String(kind)})`)
}

/** What the gateway writes down before an order is asked for, and whom it names to wallets: no fact makes these. */
const BOOKS = ['gateway_order_slots', 'gateway_slot_locks', 'gateway_lsp_sellers'] as const
type Row = Readonly<Record<string, unknown>>
export type Books = ReadonlyMap<string, readonly Row[]>

export const booksOf = (dataDir: string): Books =>
  reading(dataDir, 'views.db', (db) => new Map(BOOKS.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()])))

/** Locks that nobody takes any more, and slots of what never began, go after so long. */
const PENDING_MS = 60_000

/** @returns a sentence for each row that is new, or another, or gone before its time: where nothing was carried out there is none */
export function rewritten(before: Books, after: Books, now: number): readonly string[] {
  const texts = (books: Books, table: string) => new Map(books.get(table)?.map((row) => [JSON.stringify(row), row]))
  return BOOKS.flatMap((table) => {
    const [old, young] = [texts(before, table), texts(after, table)]
    const gone = [...old].filter(([text, { at }]) => !young.has(text) && !(Number(at) < now - PENDING_MS))
    return [
      ...[...young.keys()].filter((text) => !old.has(text)).map((text) => `${table} has a new row: ${text}`),
      ...gone.map(([text]) => `${table} has lost a row: ${text}`),
    ]
  })
}

/** Whoever calls here calls from this machine, whatever they say of themselves. */
const IP = '127.0.0.1'

/** Open orders have their slots, and slots their open orders: what was refused or ended gave it back. Locks are on addresses and nodes. */
function slotFaults(dataDir: string, withdrawn: number): readonly string[] {
  const orders = reading(dataDir, 'views.db', (db) =>
    db.prepare('SELECT id, destination FROM gateway_orders_v2 WHERE open = 1').all(),
  )
  const books = booksOf(dataDir)
  const slots = new Map(books.get('gateway_order_slots')?.map((row) => [String(row['order_id']), row]))
  const known = new Set(orders.map(({ id }) => String(id)))
  const stray = [...slots.keys()].filter((id) => !known.has(id))
  return [
    ...orders
      .filter(({ id, destination }) => slots.get(String(id))?.['destination'] !== destination)
      .map(({ id }) => `open order ${String(id)} has no slot for its destination`),
    ...[...slots.values()].filter(({ ip }) => ip !== IP).map((row) => `a slot is another caller's: ${JSON.stringify(row)}`),
    ...(stray.length > withdrawn ? stray.map((id) => `no open order has the slot ${id}`) : []),
    ...(books.get('gateway_slot_locks') ?? [])
      .filter(({ name }) => name !== `ip ${IP}` && !/^destination 0[23][0-9a-f]{64}$/.test(String(name)))
      .map(({ name }) => `a lock is on "${String(name)}"`),
  ]
}

function reading<T>(dataDir: string, file: string, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
