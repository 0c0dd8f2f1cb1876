import { rmSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport } from '@penstock/audit/verify.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeTempFolder, startProduct } from '../support/product.ts'
import { tryOrUndefined, writeAllHeads, copyAuditedSale } from './audit-sale.ts'
import {
  readContent,
  copyStore,
  readIndexedPosition,
  recomputeChain,
  type EventRow,
  readRows,
  tamper,
  copyDataDir,
} from './audit-store.ts'
import { type Forgery, hasState, FINDING_PATTERNS } from './forgery.ts'

const honestFolder = makeTempFolder()
let rows: readonly EventRow[]
/** The rows that the index of streams contains. */
let indexed: readonly EventRow[]

beforeAll(async () => {
  await copyAuditedSale(honestFolder)
  rows = readRows(honestFolder)
  const last = readIndexedPosition(honestFolder)
  indexed = rows.filter(({ position }) => position <= last)
})

test('an honest store passes the audit, and its last head covers all events', async () => {
  const report = await verifyStore(honestFolder)
  expect(report).toMatchObject({
    divergences: 0,
    first: null,
    ledger_balanced: true,
    events: rows.length,
    log: { signed: true, events_after: 0 },
  })
  expect(report.log?.heads).toBeGreaterThan(1)
})

describe('an audit of a tampered file', () => {
  const at = fc.nat(1 << 30)
  const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T // lists here are not empty

  /** Tampers with a copy of the store, and verifies the copy. */
  async function verifyTampered(change: Parameters<typeof tamper>[1], reindex: boolean): Promise<AuditReport> {
    const copy = copyStore(honestFolder)
    try {
      tamper(copy, change, reindex)
      return await verifyStore(copy)
    } finally {
      rmSync(copy, { recursive: true })
    }
  }
  /** Expects at least one finding, and the first finding in one of the streams or in the log. */
  function expectFindings({ divergences, first }: AuditReport, ...streams: readonly string[]): void {
    assert.ok(divergences > 0 && first, `nothing was found in ${streams.join(', ')}`)
    assert.ok(Number.isInteger(first.revision) && first.what !== '')
    expect([...streams, 'log']).toContain(first.stream)
  }

  test('finds a changed byte of an event, and reports its stream and revision', () =>
    fc.assert(
      fc.asyncProperty(
        at,
        fc.constantFrom('id' as const, 'type' as const, 'data' as const, 'meta' as const),
        at,
        async (which, column, byte) => {
          const row = pick(rows, which)
          const index = byte % row[column].length
          const changed = `${row[column].slice(0, index)}${row[column][index] === 'x' ? 'y' : 'x'}${row[column].slice(index + 1)}`
          const report = await verifyTampered(
            (db) => db.prepare(`update events set ${column} = ? where position = ?`).run(changed, row.position),
            false,
          )
          expect(report.divergences).toBe(1)
          expect(report.first).toMatchObject({ stream: row.name, revision: row.revision })
        },
      ),
      { numRuns: 80 },
    ))

  test('finds a changed revision, stream or position of an event', () =>
    fc.assert(
      fc.asyncProperty(
        at,
        at,
        fc.constantFrom('revision' as const, 'stream' as const, 'position' as const),
        fc.boolean(),
        async (which, other, column, reindex) => {
          const [row, target] = [pick(rows, which), pick(rows, other)]
          const value =
            column === 'position' ? rows.length + 1 + (other % 1000) : column === 'stream' ? target.stream : other % 40
          fc.pre(row[column] !== value)
          const report = await verifyTampered(
            (db) => db.prepare(`update events set ${column} = ? where position = ?`).run(value, row.position),
            reindex,
          )
          expectFindings(report, row.name, target.name)
        },
      ),
      { numRuns: 80 },
    ))

  async function expectRemovalFound(row: EventRow, how: 'one' | 'end' | 'whole', reindex: boolean): Promise<void> {
    const from = how === 'whole' ? 0 : row.revision
    const to = how === 'one' ? row.revision : 1 << 30
    const report = await verifyTampered(
      (db) => db.prepare('delete from events where stream = ? and revision between ? and ?').run(row.stream, from, to),
      reindex,
    )
    expectFindings(report, row.name)
    const findings = report.findings.filter(({ stream }) => stream === row.name)
    // If the end of an append is missing, the previous event is reported too: it is now the last event, and has no state hash.
    assert.ok(findings.some(({ revision }) => !reindex || revision === from))
    // If the removed events include the end of the log, the audit reports this first.
    assert.ok([row.name, 'log'].includes(report.first?.stream ?? ''))
  }

  test('reports removed events: a single event, the end of a stream, or a whole stream', () =>
    fc.assert(
      fc.asyncProperty(at, fc.constantFrom('one', 'end', 'whole'), fc.boolean(), (which, ...way) =>
        expectRemovalFound(pick(rows, which), ...way),
      ),
      { numRuns: 60 },
    ))

  test('finds the removed end of an append', async () => {
    const ends = rows.filter((row) => {
      const before = rows.find(({ stream, revision }) => stream === row.stream && revision === row.revision - 1)
      return before !== undefined && !hasState(before)
    })
    assert.ok(ends.length > 0)
    for (const row of ends.slice(0, 5)) for (const reindex of [true, false]) await expectRemovalFound(row, 'end', reindex)
  })

  test('finds the removed end of the whole log', async () => {
    for (const count of [1, 7, rows.length]) {
      const removedRows = rows.slice(-count)
      const report = await verifyTampered(
        (db) => db.prepare('delete from events where position >= ?').run(removedRows[0]?.position ?? 0),
        true,
      )
      expectFindings(report, ...removedRows.map(({ name }) => name))
      const streams = new Set(removedRows.map(({ name }) => name))
      expect(report.divergences).toBe(1 + streams.size)
      expect(new Set(report.findings.map(({ stream }) => stream))).toEqual(new Set(['log', ...streams]))
      const end = rows.length === count ? 'the store is empty' : `the store ends at ${rows.length - count}`
      expect(report.first?.what).toBe(`${end}, the heads know ${rows.length}`)
    }
  })

  test('finds events whose contents or positions were swapped', () =>
    fc.assert(
      fc.asyncProperty(at, at, fc.boolean(), fc.boolean(), async (a, b, places, reindex) => {
        const [one, two] = [pick(rows, a), pick(rows, b)]
        fc.pre(one !== two)
        const report = await verifyTampered((db) => {
          if (places) {
            const move = db.prepare('update events set position = ? where position = ?')
            move.run(-1, one.position)
            move.run(one.position, two.position)
            move.run(two.position, -1)
          } else {
            const write = db.prepare('update events set id = ?, type = ?, data = ?, meta = ? where position = ?')
            write.run(two.id, two.type, two.data, two.meta, one.position)
            write.run(one.id, one.type, one.data, one.meta, two.position)
          }
        }, reindex)
        expectFindings(report, one.name, two.name)
      }),
      { numRuns: 60 },
    ))

  /** Changes to one event by a forger who has no key, and who then recomputes all later hashes. */
  const forgeries: readonly Forgery[] = [
    { member: 'the timestamp', reportedBy: 'heads', change: (meta) => (meta['at'] = Number(meta['at']) + 1) },
    { member: 'the correlation', reportedBy: 'heads', change: (meta) => (meta['correlation'] = 'somebody else') },
    { member: 'the state hash (removed)', reportedBy: 'append', of: hasState, change: (meta) => delete meta['state'] },
    {
      member: 'the state hash (invented)',
      reportedBy: 'fold',
      of: hasState,
      change: (meta) => (meta['state'] = String(meta['state']).replace(/.{64}$/, 'f'.repeat(64))),
    },
    {
      member: 'the data (one more member)',
      reportedBy: 'heads',
      change: (_, row) => (row.data = row.data.replace(/^\{(?=(.))/, (_begin, next) => `{"forged":1${next === '}' ? '' : ','}`)),
    },
    {
      member: 'the data (another digit)',
      reportedBy: 'either',
      of: ({ data }) => /\d/.test(data),
      // Changes the last digit, which is part of a hash, an amount, a timestamp or a name.
      change: (_, row) => (row.data = row.data.replace(/\d(?=\D*$)/, (digit) => `${(Number(digit) + 1) % 10}`)),
    },
    {
      member: 'the type',
      reportedBy: 'either',
      change: (_, row) => {
        const category = row.name.slice(0, row.name.indexOf('-') + 1)
        const others = rows.filter(({ name, type }) => name.startsWith(category) && type !== row.type)
        row.type = pick([...others.map(({ type }) => type), 'Forged'], row.position)
      },
    },
  ]

  test.each(forgeries)('finds recomputed hashes after a change of $member', ({ reportedBy: tells, of = () => true, change }) =>
    fc.assert(
      fc.asyncProperty(at, async (which) => {
        const row = pick(rows.filter(of), which)
        const forged = recomputeChain(rows, (meta, one) => {
          if (one.position === row.position) change(meta, one)
        })
        const write: Parameters<typeof tamper>[1] = (db) => {
          const update = db.prepare('update events set type = ?, data = ?, meta = ? where position = ?')
          for (const { type, data, meta, position } of forged) update.run(type, data, meta, position)
        }
        const report = await verifyTampered(write, false)
        expect(report).toMatchObject({ divergences: 1, first: { stream: row.name } })
        expect(report.first?.what).toMatch(FINDING_PATTERNS[tells])
        assert.ok(tells !== 'fold' || report.first?.revision === row.revision)
        await expectFoundWithoutHeads(write, tells)
      }),
      { numRuns: 6 },
    ),
  )

  /** Expects that a note reveals a forgery without log heads and key, and that the key reveals newly written log heads. */
  async function expectFoundWithoutHeads(write: Parameters<typeof tamper>[1], tells: Forgery['reportedBy']): Promise<void> {
    const copy = copyStore(honestFolder)
    try {
      tamper(copy, write)
      rmSync(join(copy, 'audit.heads'))
      rmSync(join(copy, 'audit.key'))
      const bare = await verifyStore(copy)
      // Without log heads the forgery may pass the audit; the auditor's note reveals the forgery.
      assert.ok(tells === 'either' || bare.divergences === (tells === 'heads' ? 0 : 1))
      const reportWithNote = await verifyStore(copy, { note: (await verifyStore(honestFolder)).log?.note ?? '' })
      expect(reportWithNote.divergences).toBe(bare.divergences + 1)
      assert.ok(bare.divergences > 0 || reportWithNote.first?.stream === 'log')
      if (tells !== 'heads') return
      // The newly written heads are signed by a new key and not by the market's own key.
      await writeAllHeads(copy)
      writeFileSync(join(copy, 'audit.key'), readFileSync(join(honestFolder, 'audit.key')), { mode: 0o600 })
      expect((await verifyStore(copy)).first?.what).toMatch(/not signed by the audit key/)
    } finally {
      rmSync(copy, { recursive: true })
    }
  }

  test('finds a changed index, category, name or segment, which would make readers miss events', () =>
    fc.assert(
      fc.asyncProperty(
        at,
        fc.constantFrom(
          'delete from stream_events where stream = ? and revision = ?',
          'update stream_events set position = position + 1 where stream = ? and revision = ?',
          "update streams set category = category || 'x' where id = ? and ? >= 0",
          "update streams set name = name || 'x' where id = ? and ? >= 0",
          'delete from streams where id = ? and ? >= 0',
          'delete from segments where category = (select category from streams where id = ?) and ? >= 0',
          'update indexed set position = position + ? + ?',
        ),
        async (which, sql) => {
          assert.ok(indexed.length > 100 && indexed.length < rows.length)
          const row = pick(sql.includes('stream_events') ? indexed : rows, which)
          const report = await verifyTampered((db) => db.prepare(sql).run(row.stream, row.revision), false)
          expect(report.divergences).toBeGreaterThan(0)
        },
      ),
      { numRuns: 40 },
    ))

  test('reports an event that readers of its stream see and readers of the log do not', async () => {
    const claim = pick(
      rows.filter(({ name }) => name.startsWith('payhash-')),
      0,
    )
    for (const position of [0, -7]) {
      const report = await verifyTampered((db) => {
        const slot = [claim.revision + 1, position] as const
        db.prepare('insert into events select ?2, stream, ?1, id, type, data, meta from events where position = ?3').run(
          ...slot,
          claim.position,
        )
        db.prepare('insert into stream_events (stream, revision, position) values (?, ?, ?)').run(claim.stream, ...slot)
      }, false)
      expect(report.first).toMatchObject({ stream: claim.name, revision: claim.revision + 1 })
      expect(report.first?.what).toMatch(/before the beginning of the log/)
    }
  })

  test.each([
    ['a trigger', 'create trigger t after insert on events begin delete from events where position = new.position; end'],
    ['a view', 'create view v as select * from events'],
    ['an index', 'create index i on events (stream)'],
    [
      'stream names without a unique constraint',
      `create table other (id integer primary key, name text not null, category text not null);
       insert into other select * from streams; drop table streams; alter table other rename to streams;
       insert into streams (name, category) select name, category from streams where name like 'payhash-%' limit 1`,
    ],
  ])('finds a table, view, index or trigger that the market does not create: %s', async (_, sql) => {
    const report = await verifyTampered((db) => db.exec(sql), false)
    expect(report.first).toMatchObject({ stream: 'log', revision: 0 })
    expect(report.first?.what).toMatch(/other tables, views or triggers/)
  })

  test('finds an SQLite index that lacks a row, which would give a stream name another number', async () => {
    const copy = copyStore(honestFolder)
    const editSchema = (...statements: readonly string[]): void =>
      statements.forEach((sql) =>
        tamper(copy, (db) => (db.enableDefensive(false), db.exec(`pragma writable_schema = on; ${sql}`))),
      )
    editSchema(
      `create table kept as select * from sqlite_schema where tbl_name = 'streams';
       update sqlite_schema set sql = replace(sql, ' unique', '') where name = 'streams';
       delete from sqlite_schema where name = 'sqlite_autoindex_streams_1'`,
      `insert into streams (name, category) select name || '0', category from streams where name like 'payhash-%' limit 1`,
      `delete from sqlite_schema where tbl_name = 'streams'; insert into sqlite_schema select * from kept`,
      'drop table kept',
    )
    expect((await verifyStore(copy)).first?.what).toMatch(/the file is damaged: .*sqlite_autoindex_streams_1/)
  })

  test('finds any changed byte of the file that changes its content', async () => {
    const bytes = readFileSync(join(honestFolder, 'market.db'))
    const before = readContent(honestFolder)
    const copy = copyStore(honestFolder)
    let changed = 0
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (index, mask) => {
        const flipped = Buffer.from(bytes)
        flipped[index] = (flipped[index] ?? 0) ^ mask
        writeFileSync(join(copy, 'market.db'), flipped)
        const after = tryOrUndefined(() => readContent(copy))
        if (after === before) return
        changed += 1
        const report = await verifyStore(copy).catch((error: unknown) => String(error))
        assert.ok(typeof report === 'string' || report.divergences > 0, `byte ${index}`)
      }),
      { numRuns: 400 },
    )
    expect(changed).toBeGreaterThan(20)
  })
})

describe('the log heads', () => {
  test('fail the audit if a head is changed, missing or unreadable, but not because of a partial last line', async () => {
    const copy = copyStore(honestFolder)
    const file = join(copy, 'audit.heads')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const findFirst = async (text: string) => {
      writeFileSync(file, text)
      return (await verifyStore(copy)).first?.what
    }
    const all = `${lines.join('\n')}\n`
    expect(await findFirst(all.replace('"at":1', '"at":2'))).toMatch(/not signed/)
    expect(await findFirst(`${lines.toSpliced(1, 1).join('\n')}\n`)).toMatch(/heads between position start and \d+ are gone/)
    expect(await findFirst(all.replace('{"from"', '{from'))).toMatch(/line 1 of the log heads cannot be read/)
    expect(await findFirst(`${all}${lines[0]?.slice(0, 50)}`)).toBeUndefined()
    await writeAllHeads(copy)
    expect(readFileSync(file, 'utf8')).toBe(all)
    rmSync(join(copy, 'audit.key'))
    expect(await verifyStore(copy)).toMatchObject({ divergences: 0, log: { signed: false } })
    expect(await verifyStore(copy, { keyFile: join(honestFolder, 'audit.key') })).toMatchObject({
      divergences: 0,
      log: { signed: true },
    })
    rmSync(file)
    writeFileSync(join(copy, 'audit.key'), readFileSync(join(honestFolder, 'audit.key')), { mode: 0o600 })
    expect((await verifyStore(copy)).first?.what).toMatch(/the log heads are gone/)
  })

  test('let a market that starts with an older copy of its store log the loss of events', async () => {
    const copy = copyDataDir(honestFolder)
    tamper(copy, (db) => db.exec(`delete from events where position > ${rows.length - 3}`), true)
    const product = await startProduct(copy, { PENSTOCK_LOG_LEVEL: 'error' })
    await waitUntil('the logged loss of events', () => product.output().includes('the store lacks events'))
    // The audit does not accept new events at the positions of the lost events.
    const report = await product.operator<AuditReport>('POST', '/audit/verify', {})
    expect(report.divergences).toBeGreaterThan(0)
    await product.stop()
  })
})
