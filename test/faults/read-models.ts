import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { pageHashOfOrder } from '@penstock/gateway/pages/address.ts'
import { gatewayProjections } from '@penstock/gateway/views/projections.ts'
import { openPepper } from '@penstock/runtime/pepper.ts'
import type { Event, Projection } from '@penstock/runtime/service.ts'

/** What each projection writes; tables of the gateway's own bookkeeping are no fold of facts. */
const tablesOf: Readonly<Record<string, readonly string[]>> = {
  orders: ['gateway_orders', 'gateway_holds', 'gateway_channels', 'gateway_order_facts', 'gateway_sales'],
  market: ['gateway_offers', 'gateway_sellers', 'gateway_prices'],
  accounts: ['gateway_accounts', 'gateway_credentials', 'gateway_api_keys', 'gateway_nodes'],
}

const BATCH = 500

/**
 * Folds the facts afresh into empty tables, as far as the stopped market had read them, and compares row by row.
 * @returns a sentence for each difference
 */
export async function readModelFaults(dataDir: string, events: readonly Event[]): Promise<readonly string[]> {
  const pepper = await openPepper(dataDir)
  const kept = new DatabaseSync(join(dataDir, 'views.db'), { readOnly: true })
  const path = join(dataDir, 'views-again.db')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
  const fresh = openViews(path)
  const made = new DatabaseSync(path)
  try {
    const faults: string[] = []
    const projections = gatewayProjections({ committed: () => undefined }, (id) => pageHashOfOrder(pepper, id))
    for (const projection of projections) {
      await projection.migrate(fresh)
      const read = alreadyRead(kept, projection)
      await applyAll(fresh, projection, events.filter(read))
    }
    for (const table of Object.values(tablesOf).flat()) {
      const all = `SELECT * FROM ${table}`
      faults.push(...differences(table, rowsOf(kept.prepare(all).all()), rowsOf(made.prepare(all).all())))
    }
    return [...faults, ...laggards(kept, events)]
  } finally {
    kept.close()
    made.close()
    await fresh.close()
  }
}

async function applyAll(views: ReturnType<typeof openViews>, projection: Projection, events: readonly Event[]): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH)
    await views.db.transaction().execute(async (trx) => {
      for (const event of events.slice(from, from + BATCH)) await projection.apply(trx, event)
    })
}

/** Which facts a projection had applied: its revision of the stream, or the position that it has put behind itself. */
function alreadyRead(kept: DatabaseSync, { name, version, from }: Projection): (event: Event) => boolean {
  const consumer = `gateway.${name}.v${version}`
  const owners = new Map(from.map(({ category, owner }) => [category, owner]))
  const revisions = new Map(
    kept
      .prepare('SELECT stream, revision FROM progress_streams WHERE consumer = ?')
      .all(consumer)
      .map(({ stream, revision }) => [String(stream), Number(revision)]),
  )
  const positions = new Map(
    kept
      .prepare('SELECT consumer, position FROM progress')
      .all()
      .map(({ consumer: who, position }) => [String(who), BigInt(Number(position))]),
  )
  return ({ category, aggregateId, revision, position }) => {
    const owner = owners.get(category)
    if (owner === undefined) return false
    const reached = revisions.get(`${category}-${aggregateId}`)
    return reached === undefined ? position <= (positions.get(`${consumer}@${owner}`) ?? -1n) : revision <= reached
  }
}

/** Orders had come to rest before the market stopped, so what is missing of them was not read at all. */
function laggards(kept: DatabaseSync, events: readonly Event[]): readonly string[] {
  const read = new Set(
    kept
      .prepare('SELECT event_id FROM gateway_order_facts')
      .all()
      .map(({ event_id }) => String(event_id)),
  )
  return events
    .filter(({ id, category }) => (category === 'order' || category === 'settlement') && !read.has(id))
    .map(
      ({ category, aggregateId, revision, fact }) =>
        `the gateway has not read ${category}-${aggregateId} ${revision} ${fact.type}`,
    )
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
