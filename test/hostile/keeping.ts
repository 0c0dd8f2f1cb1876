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
 * @returns a sentence for each record of which no fact speaks, and for each row that is another than the facts make it
 */
export async function keptFaults(dataDir: string, withinMs: number): Promise<readonly string[]> {
  const fold = openFold(dataDir)
  try {
    for (const end = performance.now() + withinMs; ; await sleep(200)) {
      await fold.catchUp()
      const faults = [...strayRecords(dataDir, fold), ...(await readModelFaults(dataDir, fold.events))]
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

function reading<T>(dataDir: string, file: string, read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, file), { readOnly: true })
  try {
    return read(db)
  } finally {
    db.close()
  }
}
