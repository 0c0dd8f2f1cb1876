import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { prepareSampleStore, removeTempFolders } from '../../bench/src/sample-stores.ts'
import { writeAllHeads } from '../e2e/audit-sale.ts'
import { makeTempFolder } from '../support/product.ts'
import { isShortProof } from '../support/short-proof.ts'

const EVENTS = isShortProof ? 100_000 : 1_000_000
const CHANGED = 50

let folder: string
beforeAll(async () => {
  folder = await prepareSampleStore(EVENTS)
  await writeAllHeads(folder)
})
afterAll(removeTempFolders)

test(`an audit of ${EVENTS} events finds no fault, and its heads cover the last event`, async () => {
  const report = await verifyStore(folder)
  expect(report).toMatchObject({ divergences: 0, first: null, ledger_balanced: true, log: { signed: true, events_after: 0 } })
  expect(report.events).toBeGreaterThanOrEqual(EVENTS)
})

test('an audit finds every stream with a changed fact, wherever the fact is in the log', async () => {
  const copy = makeTempFolder()
  cpSync(folder, copy, { recursive: true })
  const db = new DatabaseSync(join(copy, 'market.db'))
  const last = Number(db.prepare('SELECT max(position) AS last FROM events').get()?.['last'])
  const positions = Array.from({ length: CHANGED }, (_, index) => 1 + Math.floor((index * (last - 1)) / CHANGED))
  const streamAt = db.prepare('SELECT stream FROM events WHERE position = ?')
  const streams = new Set(positions.map((position) => streamAt.get(position)?.['stream']))
  const change = db.prepare("UPDATE events SET data = data || ' ' WHERE position = ?")
  for (const position of positions) expect(change.run(position).changes).toBe(1)
  db.close()
  // An audit reports only the first divergence of a stream.
  expect((await verifyStore(copy)).divergences).toBeGreaterThanOrEqual(streams.size)
  expect(streams.size).toBeGreaterThan(CHANGED / 2)
})
