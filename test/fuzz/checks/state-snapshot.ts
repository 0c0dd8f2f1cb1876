import { setTimeout as sleep } from 'node:timers/promises'
import { type Fold, openFold } from '../../support/invariants/fold.ts'
import { checkReadModels } from '../../support/invariants/read-models.ts'
import { readDatabase } from '../../support/sqlite.ts'

/** State outside of the event log. A refused request must change neither the log nor this state. */

/** Tables of the simulated network with money, channels, nodes and the chain. Requests without a payment do not change them. */
const NETWORK_TABLES = ['nodes', 'channels', 'txs', 'outputs', 'payments', 'blocks'] as const
export type NetworkTables = ReadonlyMap<string, string>

export const snapshotNetwork = (dataDir: string): NetworkTables =>
  readDatabase(dataDir, 'simnet.db', (db) => {
    const readRows = (table: string): string => {
      const statement = db.prepare(`SELECT * FROM ${table}`)
      statement.setReadBigInts(true)
      return JSON.stringify(statement.all(), (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    }
    return new Map(NETWORK_TABLES.map((table) => [table, readRows(table)]))
  })

/** @returns a sentence for each table that has changed; between the snapshots, no operator may act */
export const diffNetwork = (before: NetworkTables, after: NetworkTables): readonly string[] =>
  [...before].filter(([table, rows]) => after.get(table) !== rows).map(([table]) => `the network's ${table} have changed`)

/**
 * Checks that each stored record of personal data belongs to a fact, and that read models match the facts.
 * @param timeoutMs how long read models may be behind the facts
 * @param withdrawnCount number of orders that were withdrawn before they were ready; their slots remain for a while
 * @returns a sentence for each record without a fact, each row that differs from the facts, and each stray row of the gateway
 */
export async function checkStoredState(dataDir: string, timeoutMs: number, withdrawnCount = 0): Promise<readonly string[]> {
  const fold = openFold(dataDir)
  try {
    for (const end = performance.now() + timeoutMs; ; await sleep(200)) {
      await fold.catchUp()
      const violations = [
        ...findStrayRecords(dataDir, fold),
        ...checkSlots(dataDir, withdrawnCount),
        ...(await checkReadModels(dataDir, fold.events)),
      ]
      if (violations.length === 0 || performance.now() > end) return violations
    }
  } finally {
    await fold.close()
  }
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

function findStrayRecords(dataDir: string, { events }: Fold): readonly string[] {
  const referencedIds = new Set(events.flatMap(({ fact }) => JSON.stringify(fact.data).match(UUID) ?? []))
  return readDatabase(dataDir, 'records.db', (db) => db.prepare('SELECT id, kind FROM records').all())
    .filter(({ id }) => !referencedIds.has(String(id)))
    .map(({ id, kind }) => `no fact contains record ${String(id)} (${String(kind)})`)
}

/** Tables that no projection fills: slots and locks of requested orders, and the sellers published to wallets. */
const GATEWAY_TABLES = ['gateway_order_slots', 'gateway_slot_locks', 'gateway_lsp_sellers'] as const
type GatewayRow = Readonly<Record<string, unknown>>
export type GatewayTables = ReadonlyMap<string, readonly GatewayRow[]>

export const snapshotGatewayTables = (dataDir: string): GatewayTables =>
  readDatabase(
    dataDir,
    'views.db',
    (db) => new Map(GATEWAY_TABLES.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()])),
  )

/** The gateway removes abandoned locks, and slots of orders that never began, after this time. */
const LOCK_TTL_MS = 60_000

/** @returns a sentence for each row that is new, changed, or gone too early; a refused request must cause none */
export function diffGatewayTables(before: GatewayTables, after: GatewayTables, now: number): readonly string[] {
  const rowsByText = (tables: GatewayTables, table: string) =>
    new Map(tables.get(table)?.map((row) => [JSON.stringify(row), row]))
  return GATEWAY_TABLES.flatMap((table) => {
    const [earlierRows, laterRows] = [rowsByText(before, table), rowsByText(after, table)]
    const lostRows = [...earlierRows].filter(([text, { at }]) => !laterRows.has(text) && !(Number(at) < now - LOCK_TTL_MS))
    return [
      ...[...laterRows.keys()].filter((text) => !earlierRows.has(text)).map((text) => `${table} has a new row: ${text}`),
      ...lostRows.map(([text]) => `${table} has lost a row: ${text}`),
    ]
  })
}

/** All callers have this address. The gateway must not use an address from their headers. */
const LOCAL_IP = '127.0.0.1'

/** Checks that open orders and slots match, except withdrawn orders, and that locks are on addresses and nodes. */
function checkSlots(dataDir: string, withdrawnCount: number): readonly string[] {
  const orders = readDatabase(dataDir, 'views.db', (db) =>
    db.prepare('SELECT id, destination FROM gateway_orders_v2 WHERE open = 1').all(),
  )
  const tables = snapshotGatewayTables(dataDir)
  const slots = new Map(tables.get('gateway_order_slots')?.map((row) => [String(row['order_id']), row]))
  const orderIds = new Set(orders.map(({ id }) => String(id)))
  const straySlots = [...slots.keys()].filter((id) => !orderIds.has(id))
  return [
    ...orders
      .filter(({ id, destination }) => slots.get(String(id))?.['destination'] !== destination)
      .map(({ id }) => `open order ${String(id)} has no slot for its destination`),
    ...[...slots.values()].filter(({ ip }) => ip !== LOCAL_IP).map((row) => `a slot is another caller's: ${JSON.stringify(row)}`),
    ...(straySlots.length > withdrawnCount ? straySlots.map((id) => `no open order has the slot ${id}`) : []),
    ...(tables.get('gateway_slot_locks') ?? [])
      .filter(({ name }) => name !== `ip ${LOCAL_IP}` && !/^destination 0[23][0-9a-f]{64}$/.test(String(name)))
      .map(({ name }) => `a lock is on "${String(name)}"`),
  ]
}
