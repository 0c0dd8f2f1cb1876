import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteEventStore } from './event-store.ts'
import { openMarketLog } from './market-log.ts'
import { findSchemaFaults } from './schema-check.ts'

const HUGE = Number.MAX_SAFE_INTEGER - 5

/** Creates a store with three events, then changes its file by SQL. */
async function openChangedStore(sql: string) {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'market.db')
  const writing = openMarketLog(path)
  const store = sqliteEventStore(writing)
  const event = (n: number) => ({ id: `00000000-0000-4000-8000-00000000000${n}`, type: 'Recorded', data: '{}', meta: '{}' })
  await store.append('order-1', 'none', [event(1), event(2)])
  await store.append('hold-1', 'none', [event(3)])
  await writing.close()
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  const log = openMarketLog(path)
  onTestFinished(() => log.close())
  return { log, store: sqliteEventStore(log) }
}

test('a store that only appends have changed has no schema fault', async () => {
  expect(findSchemaFaults((await openChangedStore('')).log.db)).toEqual([])
})

test.each<readonly [sql: string, stream: string, expected: RegExp]>([
  ["update events set revision = x'31' where position = 2", 'order-1', /\(revision\)/],
  ["update events set revision = 'one' where position = 2", 'order-1', /\(revision\)/],
  ['update events set revision = 0.5 where position = 2', 'order-1', /\(revision\)/],
  ['update events set revision = 9223372036854775807 where position = 2', 'order-1', /\(revision\)/],
  ['update events set position = 9223372036854775807 where position = 2', 'order-1', /\(position\)/],
  ["update events set stream = x'31' where position = 2", 'log', /\(stream\)/],
  ...['id', 'type', 'data', 'meta'].map(
    (column) =>
      [`update events set ${column} = cast(${column} as blob) where position = 3`, 'hold-1', RegExp(`\\(${column}\\)`)] as const,
  ),
  ["update streams set name = cast(name as blob) where name = 'order-1'", 'log', /column name of the table streams/],
  ["update streams set category = cast(category as blob) where name = 'order-1'", 'log', /column category/],
  [
    "insert into stream_events (stream, revision, position) values (1, x'31', 2)",
    'log',
    /column revision of the table stream_events/,
  ],
  ["update indexed set position = x'31'", 'log', /column position of the table indexed/],
  ["update segments set segment = x'31' where category = 'order'", 'log', /column segment/],
])('a value of a wrong type or beyond the safe range is a schema fault: %s', async (sql, stream, expected) => {
  const [fault] = findSchemaFaults((await openChangedStore(sql)).log.db)
  expect(fault?.stream).toBe(stream)
  expect(fault?.what).toMatch(expected)
})

test('an event at a huge position is read without a scan of all positions, and an append beyond the last is refused', async () => {
  const { store } = await openChangedStore(`update events set position = ${HUGE} where position = 3`)
  const all = await store.readAll('start', 10)
  expect(all.map(({ position }) => position)).toEqual([1n, 2n, BigInt(HUGE)])
  expect(await store.readAll(2n, 10)).toHaveLength(1)
  expect(await store.readAll(2n, 10, ['order'])).toEqual([])
  const event = (n: number) => ({ id: `00000000-0000-4000-8000-0000000001${n}`, type: 'Recorded', data: '{}', meta: '{}' })
  const next = Array.from({ length: 9 }, (_, n) => event(10 + n))
  await expect(store.append('order-2', 'none', next)).rejects.toThrow(/no positions left/)
  expect(await store.append('order-2', 'none', [event(30)])).toMatchObject({ position: BigInt(HUGE + 1) })
})

test('an event at a position that a reader cannot represent hides no other event', async () => {
  const { store } = await openChangedStore('update events set position = 9223372036854775807 where position = 3')
  expect(await store.readAll('start', 10)).toHaveLength(2)
  expect(
    await store.append('order-2', 'none', [
      { id: '00000000-0000-4000-8000-000000000031', type: 'Recorded', data: '{}', meta: '{}' },
    ]),
  ).toMatchObject({ position: 3n })
})
