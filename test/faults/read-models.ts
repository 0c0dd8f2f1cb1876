import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { pageHashOfOrder } from '@penstock/gateway/pages/address.ts'
import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import { openPepper } from '@penstock/runtime/pepper.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'

/** The gateway's own bookkeeping, which is no fold of facts. Every other table of it has to be named by a projection. */
const BOOKKEEPING = new Set([
  'gateway_commands',
  'gateway_order_slots',
  'gateway_slot_locks',
  'gateway_lsp_sellers',
  'gateway_sessions',
  'gateway_erasures',
])

/** Of versions of read models before today's: only processes of a release before write them. */
const EARLIER = new Set(['gateway_orders', 'gateway_holds', 'gateway_channels', 'gateway_order_facts', 'gateway_sales'])

const BATCH = 500

/** @returns a sentence for each row that is another than the facts make it, and for each projection that is behind them */
export const readModelFaults = async (dataDir: string, events: readonly Event[]): Promise<readonly string[]> => [
  ...(await unreadFaults(dataDir, events)),
  ...(await foldedFaults(dataDir, events)),
]

/**
 * Folds the facts afresh into empty tables, as far as the market has read them, and compares row by row.
 * @returns a sentence for each difference
 */
export const foldedFaults = (dataDir: string, events: readonly Event[]): Promise<readonly string[]> =>
  reading(dataDir, async (kept) => differencesFromFold(kept, await openPepper(dataDir), events))

/** @returns a sentence for each projection that has not read all of the facts that are its own */
export const unreadFaults = (dataDir: string, events: readonly Event[]): Promise<readonly string[]> =>
  reading(dataDir, (kept) => unread(kept, events))

async function reading<T>(dataDir: string, look: (kept: ReadRows) => Promise<T>): Promise<T> {
  const kept = new DatabaseSync(join(dataDir, 'views.db'), { readOnly: true })
  try {
    return await look(async (text) => kept.prepare(text).all())
  } finally {
    kept.close()
  }
}

/** Reads rows of the read models. */
export type ReadRows = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** The same for read models wherever they are. */
export async function differencesFromFold(
  kept: ReadRows,
  pepper: Uint8Array,
  events: readonly Event[],
): Promise<readonly string[]> {
  const fresh = openViews(':memory:')
  try {
    const faults: string[] = []
    const made = rowsIn(fresh)
    const projections = projectionsWith(pepper)
    for (const projection of projections) {
      await projection.migrate(fresh)
      await applyAll(fresh, projection, events.filter(await alreadyRead(kept, projection)))
    }
    const tables = projections.flatMap(({ tables: made = [] }) => made)
    faults.push(...uncompared(await gatewayTables(made), tables))
    for (const table of tables) {
      const all = `SELECT * FROM ${table}`
      faults.push(...differences(table, rowsOf(await kept(all)), rowsOf(await made(all))))
    }
    return faults
  } finally {
    await fresh.close()
  }
}

const projectionsWith = (pepper: Uint8Array): readonly Projection[] =>
  gatewayProjections({ committed: () => undefined }, (id) => pageHashOfOrder(pepper, id))

/** The same for read models wherever they are: a projection that stands still has rows that are right, and old. */
export async function unread(kept: ReadRows, events: readonly Event[]): Promise<readonly string[]> {
  const faults: string[] = []
  for (const projection of projectionsWith(new Uint8Array())) {
    const own = new Set(projection.from.map(({ category }) => category))
    const isRead = await alreadyRead(kept, projection)
    const missing = events.filter((event) => own.has(event.category) && !isRead(event))
    const [first] = missing
    if (first)
      faults.push(
        `the gateway's ${projection.name} have not read ${missing.length} facts, the first of them ` +
          `${first.category}-${first.aggregateId} ${first.revision} ${first.fact.type}`,
      )
  }
  return faults
}

const gatewayTables = async (rows: ReadRows): Promise<readonly string[]> =>
  (await rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'gateway!_%' ESCAPE '!'")).map(({ name }) =>
    String(name),
  )

/** @returns a sentence for each of the gateway's tables that nobody would compare */
export const uncompared = (all: readonly string[], compared: readonly string[]): readonly string[] =>
  all
    .filter((table) => !BOOKKEEPING.has(table) && !EARLIER.has(table) && !compared.includes(table))
    .map((table) => `no projection says that it makes ${table}, so nobody compares it`)

const rowsIn =
  ({ db }: Pick<Views, 'db'>): ReadRows =>
  async (text) =>
    (await sql.raw<Record<string, unknown>>(text).execute(db)).rows

async function applyAll(views: ReturnType<typeof openViews>, projection: Projection, events: readonly Event[]): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH)
    await views.db.transaction().execute(async (trx) => {
      for (const event of events.slice(from, from + BATCH)) await projection.apply(trx, event)
    })
}

/** Which facts a projection had applied: its revision of the stream, or the position that it has put behind itself. */
async function alreadyRead(kept: ReadRows, { name, version, from }: Projection): Promise<(event: Event) => boolean> {
  const consumer = `gateway.${name}.v${version}`
  const owners = new Map(from.map(({ category, owner }) => [category, owner]))
  const revisions = new Map(
    (await kept(`SELECT stream, revision FROM progress_streams WHERE consumer = '${consumer}'`)).map(({ stream, revision }) => [
      String(stream),
      Number(revision),
    ]),
  )
  const positions = new Map(
    (await kept('SELECT consumer, position FROM progress')).map(({ consumer: who, position }) => [
      String(who),
      BigInt(Number(position)),
    ]),
  )
  return ({ category, aggregateId, revision, position }) => {
    const owner = owners.get(category)
    if (owner === undefined) return false
    const reached = revisions.get(`${category}-${aggregateId}`)
    return reached === undefined ? position <= (positions.get(`${consumer}@${owner}`) ?? -1n) : revision <= reached
  }
}

const rowsOf = (rows: readonly unknown[]): ReadonlySet<string> =>
  new Set(rows.map((row) => JSON.stringify(Object.entries(row as object).toSorted(([a], [b]) => (a < b ? -1 : 1)))))

function differences(table: string, kept: ReadonlySet<string>, made: ReadonlySet<string>): readonly string[] {
  const short = (row: string): string => (row.length > 1500 ? `${row.slice(0, 1500)}…` : row)
  return [
    ...[...kept].filter((row) => !made.has(row)).map((row) => `${table} has a row that the facts do not make: ${short(row)}`),
    ...[...made].filter((row) => !kept.has(row)).map((row) => `${table} lacks a row that the facts make: ${short(row)}`),
  ]
}
