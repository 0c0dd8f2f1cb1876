import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { hashOrderPage } from '@penstock/gateway/pages/page-url.ts'
import { createGatewayProjections } from '@penstock/gateway/projections.ts'
import { openPepper } from '@penstock/credentials/pepper.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'
import type { Views } from '@penstock/ports/views.ts'
import { sql } from 'kysely'

/** The gateway's tables that no projection writes. A projection has to declare every other table of the gateway. */
const BOOKKEEPING_TABLES = new Set([
  'gateway_commands',
  'gateway_order_slots',
  'gateway_slot_locks',
  'gateway_lsp_sellers',
  'gateway_sessions',
  'gateway_service_key_uses',
  'gateway_erasures',
  'gateway_payments_erasures',
])

/** Tables of earlier versions of read models, which only processes of an earlier release write. */
const EARLIER_TABLES = new Set([
  'gateway_orders',
  'gateway_holds',
  'gateway_channels',
  'gateway_order_facts',
  'gateway_sales',
  'gateway_offers',
  'gateway_sellers',
  'gateway_prices',
])

const BATCH_SIZE = 500

/** @returns a sentence for each row that differs from the facts, and for each projection with unread facts */
export const checkReadModels = async (dataDir: string, events: readonly Event[]): Promise<readonly string[]> => [
  ...(await checkReadProgress(dataDir, events)),
  ...(await compareReadModels(dataDir, events)),
]

/**
 * Applies the facts that the read models have read to empty tables, and compares these tables with the stored tables.
 * @returns a sentence for each difference
 */
export const compareReadModels = (dataDir: string, events: readonly Event[]): Promise<readonly string[]> =>
  withReadModels(dataDir, async (stored) => compareWithFold(stored, await openPepper(dataDir), events))

/** @returns a sentence for each projection with unread facts */
export const checkReadProgress = (dataDir: string, events: readonly Event[]): Promise<readonly string[]> =>
  withReadModels(dataDir, (stored) => findUnreadFacts(stored, events))

async function withReadModels<T>(dataDir: string, check: (stored: ReadRows) => Promise<T>): Promise<T> {
  const stored = new DatabaseSync(join(dataDir, 'views.db'), { readOnly: true })
  try {
    return await check(async (text) => stored.prepare(text).all())
  } finally {
    stored.close()
  }
}

/** Reads rows of the read models. */
export type ReadRows = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Does the same as `compareReadModels` for read models in any kind of database. */
export async function compareWithFold(
  stored: ReadRows,
  pepper: Uint8Array,
  events: readonly Event[],
): Promise<readonly string[]> {
  const fresh = openViews(':memory:')
  try {
    const violations: string[] = []
    const folded = createRowReader(fresh)
    const projections = createProjections(pepper)
    for (const projection of projections) {
      await projection.migrate(fresh)
      await applyFacts(fresh, projection, events.filter(await createIsRead(stored, projection)))
    }
    const tables = projections.flatMap(({ tables: folded = [] }) => folded)
    violations.push(...findUncomparedTables(await listGatewayTables(folded), tables))
    for (const table of tables) {
      const all = `SELECT * FROM ${table}`
      violations.push(...compareRows(table, toRowSet(await stored(all)), toRowSet(await folded(all))))
    }
    return violations
  } finally {
    await fresh.close()
  }
}

const createProjections = (pepper: Uint8Array): readonly Projection[] =>
  createGatewayProjections({ notifyCommitted: () => undefined }, (id) => hashOrderPage(pepper, id))

/** Finds projections with unread facts, in any kind of database. `compareWithFold` does not find a projection that stopped. */
export async function findUnreadFacts(stored: ReadRows, events: readonly Event[]): Promise<readonly string[]> {
  const violations: string[] = []
  for (const projection of createProjections(new Uint8Array())) {
    const categories = new Set(projection.from.map(({ category }) => category))
    const isRead = await createIsRead(stored, projection)
    const missing = events.filter((event) => categories.has(event.category) && !isRead(event))
    const [first] = missing
    if (first)
      violations.push(
        `the gateway's ${projection.name} have not read ${missing.length} facts, the first of them ` +
          `${first.category}-${first.aggregateId} ${first.revision} ${first.fact.type}`,
      )
  }
  return violations
}

const listGatewayTables = async (rows: ReadRows): Promise<readonly string[]> =>
  (await rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'gateway!_%' ESCAPE '!'")).map(({ name }) =>
    String(name),
  )

/** @returns a sentence for each of the gateway's tables that is not compared */
export const findUncomparedTables = (all: readonly string[], compared: readonly string[]): readonly string[] =>
  all
    .filter((table) => !BOOKKEEPING_TABLES.has(table) && !EARLIER_TABLES.has(table) && !compared.includes(table))
    .map((table) => `no projection says that it makes ${table}, so nobody compares it`)

const createRowReader =
  ({ db }: Pick<Views, 'db'>): ReadRows =>
  async (text) =>
    (await sql.raw<Record<string, unknown>>(text).execute(db)).rows

async function applyFacts(views: ReturnType<typeof openViews>, projection: Projection, events: readonly Event[]): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH_SIZE)
    await views.db.transaction().execute((trx) => projection.apply(trx, events.slice(from, from + BATCH_SIZE)))
}

/** Returns a predicate for the facts that a projection has applied, by its stored revision of a stream, or by its checkpoint. */
async function createIsRead(stored: ReadRows, { name, version, from }: Projection): Promise<(event: Event) => boolean> {
  const consumer = `gateway.${name}.v${version}`
  const owners = new Map(from.map(({ category, owner }) => [category, owner]))
  const revisions = new Map(
    (await stored(`SELECT stream, revision FROM progress_streams WHERE consumer = '${consumer}'`)).map(({ stream, revision }) => [
      String(stream),
      Number(revision),
    ]),
  )
  const positions = new Map(
    (await stored('SELECT consumer, position FROM progress')).map(({ consumer: consumerName, position }) => [
      String(consumerName),
      BigInt(Number(position)),
    ]),
  )
  return ({ category, aggregateId, revision, position }) => {
    const owner = owners.get(category)
    if (owner === undefined) return false
    const revisionRead = revisions.get(`${category}-${aggregateId}`)
    return revisionRead === undefined ? position <= (positions.get(`${consumer}@${owner}`) ?? -1n) : revision <= revisionRead
  }
}

const toRowSet = (rows: readonly unknown[]): ReadonlySet<string> =>
  new Set(rows.map((row) => JSON.stringify(Object.entries(row as object).toSorted(([a], [b]) => (a < b ? -1 : 1)))))

function compareRows(table: string, stored: ReadonlySet<string>, folded: ReadonlySet<string>): readonly string[] {
  const shorten = (row: string): string => (row.length > 1500 ? `${row.slice(0, 1500)}…` : row)
  return [
    ...[...stored]
      .filter((row) => !folded.has(row))
      .map((row) => `${table} has a row that does not follow from the facts: ${shorten(row)}`),
    ...[...folded].filter((row) => !stored.has(row)).map((row) => `${table} lacks a row of the facts: ${shorten(row)}`),
  ]
}
