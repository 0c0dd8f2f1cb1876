import { rmSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { until } from '@penstock/testkit/until.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { scratch, startProduct } from '../harness/product.ts'
import { attempt, noteHeads, sale } from './audit-sale.ts'
import { contentOf, copyOf, indexedUpTo, rechain, type Row, rowsOf, tamper, wholeCopyOf } from './audit-store.ts'

/** What an audit says of a stream that was written anew: by whom it is told. */
const TELL = {
  heads: /were others at .*, and were written anew$/,
  // At the end of a stream the heads tell first.
  append: /^the last event of its append has no state hash$|, and were written anew$/,
  fold: /^the facts fold to another state than the one that was hashed$/,
  either: /./,
} as const

/** A change of one event; `tells`: whether only the log heads can know of it, or its stream knows already. */
type Forgery = {
  readonly member: string
  readonly tells: keyof typeof TELL
  /** Of which events it can be made; all of them where it is left out. */
  readonly of?: (row: Row) => boolean
  readonly change: (meta: Record<string, unknown>, row: Row) => unknown
}
const hasState = ({ meta }: Row): boolean => meta.includes('"state":')

const honest = scratch()
let rows: readonly Row[]
/** Those that have their place in the index of streams. */
let indexed: readonly Row[]

beforeAll(async () => {
  await sale(honest)
  rows = rowsOf(honest)
  const last = indexedUpTo(honest)
  indexed = rows.filter(({ position }) => position <= last)
})

test('an honest store is whole, and all of it lies before the last head', async () => {
  const report = await verifyStore(honest)
  expect(report).toMatchObject({
    divergences: 0,
    first: null,
    ledger_balanced: true,
    events: rows.length,
    log: { signed: true, events_after: 0 },
  })
  expect(report.log?.heads).toBeGreaterThan(1)
})

describe('what somebody with the file may do to it', () => {
  const at = fc.nat(1 << 30)
  const pick = <T>(list: readonly T[], index: number): T => list[index % list.length] as T // lists here are not empty

  /** Tampers with a copy and verifies it. */
  async function verified(change: Parameters<typeof tamper>[1], reindex: boolean): Promise<AuditReport> {
    const copy = copyOf(honest)
    try {
      tamper(copy, change, reindex)
      return await verifyStore(copy)
    } finally {
      rmSync(copy, { recursive: true })
    }
  }
  /** That something was found, in one of these streams or in the order of the whole log. */
  function found({ divergences, first }: AuditReport, ...streams: readonly string[]): void {
    assert.ok(divergences > 0 && first, `nothing was found in ${streams.join(', ')}`)
    assert.ok(Number.isInteger(first.revision) && first.what !== '')
    expect([...streams, 'log']).toContain(first.stream)
  }

  test('a changed byte of an event is found, in its stream and revision', () =>
    fc.assert(
      fc.asyncProperty(
        at,
        fc.constantFrom('id' as const, 'type' as const, 'data' as const, 'meta' as const),
        at,
        async (which, column, byte) => {
          const row = pick(rows, which)
          const index = byte % row[column].length
          const changed = `${row[column].slice(0, index)}${row[column][index] === 'x' ? 'y' : 'x'}${row[column].slice(index + 1)}`
          const report = await verified(
            (db) => db.prepare(`update events set ${column} = ? where position = ?`).run(changed, row.position),
            false,
          )
          expect(report.divergences).toBe(1)
          expect(report.first).toMatchObject({ stream: row.name, revision: row.revision })
        },
      ),
      { numRuns: 80 },
    ))

  test('another revision, stream or position of an event is found', () =>
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
          const report = await verified(
            (db) => db.prepare(`update events set ${column} = ? where position = ?`).run(value, row.position),
            reindex,
          )
          found(report, row.name, target.name)
        },
      ),
      { numRuns: 80 },
    ))

  test('removed events are found: one, the end of a stream, a whole stream', () =>
    fc.assert(
      fc.asyncProperty(at, fc.constantFrom('one', 'end', 'whole'), fc.boolean(), async (which, how, reindex) => {
        const row = pick(rows, which)
        const from = how === 'whole' ? 0 : row.revision
        const to = how === 'one' ? row.revision : 1 << 30
        const report = await verified(
          (db) => db.prepare('delete from events where stream = ? and revision between ? and ?').run(row.stream, from, to),
          reindex,
        )
        found(report, row.name)
        const told = report.findings.find(({ stream }) => stream === row.name)
        assert.ok(told && (!reindex || told.revision === from))
        // Where the end of the log went with it, that is told first.
        assert.ok([row.name, 'log'].includes(report.first?.stream ?? ''))
      }),
      { numRuns: 60 },
    ))

  test('the end of the whole log is missed', async () => {
    for (const count of [1, 7, rows.length]) {
      const gone = rows.slice(-count)
      const report = await verified(
        (db) => db.prepare('delete from events where position >= ?').run(gone[0]?.position ?? 0),
        true,
      )
      found(report, ...gone.map(({ name }) => name))
      const streams = new Set(gone.map(({ name }) => name))
      expect(report.divergences).toBe(1 + streams.size)
      expect(new Set(report.findings.map(({ stream }) => stream))).toEqual(new Set(['log', ...streams]))
      const end = rows.length === count ? 'the store is empty' : `the store ends at ${rows.length - count}`
      expect(report.first?.what).toBe(`${end}, the heads know ${rows.length}`)
    }
  })

  test('swapped events are found, contents or places', () =>
    fc.assert(
      fc.asyncProperty(at, at, fc.boolean(), fc.boolean(), async (a, b, places, reindex) => {
        const [one, two] = [pick(rows, a), pick(rows, b)]
        fc.pre(one !== two)
        const report = await verified((db) => {
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
        found(report, one.name, two.name)
      }),
      { numRuns: 60 },
    ))

  /** Whoever writes one of these anew, and all hashes after it, as somebody would who knows how they are made. */
  const forgeries: readonly Forgery[] = [
    { member: 'its time', tells: 'heads', change: (meta) => (meta['at'] = Number(meta['at']) + 1) },
    { member: 'its cause', tells: 'heads', change: (meta) => (meta['correlation'] = 'somebody else') },
    { member: 'its state hash, left out', tells: 'append', of: hasState, change: (meta) => delete meta['state'] },
    {
      member: 'its state hash, made up',
      tells: 'fold',
      of: hasState,
      change: (meta) => (meta['state'] = String(meta['state']).replace(/.{64}$/, 'f'.repeat(64))),
    },
    {
      member: 'its data, with a member more',
      tells: 'heads',
      change: (_, row) => (row.data = row.data.replace(/^\{(?=(.))/, (_begin, next) => `{"forged":1${next === '}' ? '' : ','}`)),
    },
    {
      member: 'its data, with another digit',
      tells: 'either',
      of: ({ data }) => /\d/.test(data),
      // The last one: in a hash, an amount, a time or a name.
      change: (_, row) => (row.data = row.data.replace(/\d(?=\D*$)/, (digit) => `${(Number(digit) + 1) % 10}`)),
    },
    {
      member: 'its type',
      tells: 'either',
      change: (_, row) => {
        const category = row.name.slice(0, row.name.indexOf('-') + 1)
        const others = rows.filter(({ name, type }) => name.startsWith(category) && type !== row.type)
        row.type = pick([...others.map(({ type }) => type), 'Forged'], row.position)
      },
    },
  ]

  test.each(forgeries)('hashes that were made anew without the key are found: $member', ({ tells, of = () => true, change }) =>
    fc.assert(
      fc.asyncProperty(at, async (which) => {
        const row = pick(rows.filter(of), which)
        const forged = rechain(rows, (meta, one) => {
          if (one.position === row.position) change(meta, one)
        })
        const write: Parameters<typeof tamper>[1] = (db) => {
          const update = db.prepare('update events set type = ?, data = ?, meta = ? where position = ?')
          for (const { type, data, meta, position } of forged) update.run(type, data, meta, position)
        }
        const report = await verified(write, false)
        expect(report).toMatchObject({ divergences: 1, first: { stream: row.name } })
        expect(report.first?.what).toMatch(TELL[tells])
        assert.ok(tells !== 'fold' || report.first?.revision === row.revision)
        await withoutHeads(write, tells)
      }),
      { numRuns: 6 },
    ),
  )

  /** A store that was written anew, beside which heads and key are gone, or were made again. */
  async function withoutHeads(write: Parameters<typeof tamper>[1], tells: Forgery['tells']): Promise<void> {
    const copy = copyOf(honest)
    try {
      tamper(copy, write)
      rmSync(join(copy, 'audit.heads'))
      rmSync(join(copy, 'audit.key'))
      const bare = await verifyStore(copy)
      // Without heads it may look whole; an auditor's own note tells.
      assert.ok(tells === 'either' || bare.divergences === (tells === 'heads' ? 0 : 1))
      const noted = await verifyStore(copy, { note: (await verifyStore(honest)).log?.note ?? '' })
      expect(noted.divergences).toBe(bare.divergences + 1)
      assert.ok(bare.divergences > 0 || noted.first?.stream === 'log')
      if (tells !== 'heads') return
      // Heads made again with another key are not this market's.
      await noteHeads(copy)
      writeFileSync(join(copy, 'audit.key'), readFileSync(join(honest, 'audit.key')), { mode: 0o600 })
      expect((await verifyStore(copy)).first?.what).toMatch(/not signed by the audit key/)
    } finally {
      rmSync(copy, { recursive: true })
    }
  }

  test('a changed index, category, name or segment is found: a reader would miss events', () =>
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
          const report = await verified((db) => db.prepare(sql).run(row.stream, row.revision), false)
          expect(report.divergences).toBeGreaterThan(0)
        },
      ),
      { numRuns: 40 },
    ))

  test('an event that readers of its stream find, and readers of the log do not, is found', async () => {
    const claim = pick(
      rows.filter(({ name }) => name.startsWith('payhash-')),
      0,
    )
    for (const position of [0, -7]) {
      const report = await verified((db) => {
        const place = [claim.revision + 1, position] as const
        db.prepare('insert into events select ?2, stream, ?1, id, type, data, meta from events where position = ?3').run(
          ...place,
          claim.position,
        )
        db.prepare('insert into stream_events (stream, revision, position) values (?, ?, ?)').run(claim.stream, ...place)
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
      'names that may stand twice',
      `create table other (id integer primary key, name text not null, category text not null);
       insert into other select * from streams; drop table streams; alter table other rename to streams;
       insert into streams (name, category) select name, category from streams where name like 'payhash-%' limit 1`,
    ],
  ])('a file with other tables than the market makes is found: %s', async (_, sql) => {
    const report = await verified((db) => db.exec(sql), false)
    expect(report.first).toMatchObject({ stream: 'log', revision: 0 })
    expect(report.first?.what).toMatch(/other tables, views or triggers/)
  })

  test('an index of the file that lacks a row is found: a stream would have another number by its name', async () => {
    const copy = copyOf(honest)
    const written = (...statements: readonly string[]): void =>
      statements.forEach((sql) =>
        tamper(copy, (db) => (db.enableDefensive(false), db.exec(`pragma writable_schema = on; ${sql}`))),
      )
    written(
      `create table kept as select * from sqlite_schema where tbl_name = 'streams';
       update sqlite_schema set sql = replace(sql, ' unique', '') where name = 'streams';
       delete from sqlite_schema where name = 'sqlite_autoindex_streams_1'`,
      `insert into streams (name, category) select name || '0', category from streams where name like 'payhash-%' limit 1`,
      `delete from sqlite_schema where tbl_name = 'streams'; insert into sqlite_schema select * from kept`,
      'drop table kept',
    )
    expect((await verifyStore(copy)).first?.what).toMatch(/the file is damaged: .*sqlite_autoindex_streams_1/)
  })

  test('any byte of the file: either no fact is changed by it, or the audit finds it', async () => {
    const bytes = readFileSync(join(honest, 'market.db'))
    const before = contentOf(honest)
    const copy = copyOf(honest)
    let changed = 0
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (index, mask) => {
        const flipped = Buffer.from(bytes)
        flipped[index] = (flipped[index] ?? 0) ^ mask
        writeFileSync(join(copy, 'market.db'), flipped)
        const after = attempt(() => contentOf(copy))
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
  test('a changed, removed or foreign head is found; half a line of a power cut is not one', async () => {
    const copy = copyOf(honest)
    const file = join(copy, 'audit.heads')
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const whatOf = async (text: string) => {
      writeFileSync(file, text)
      return (await verifyStore(copy)).first?.what
    }
    const all = `${lines.join('\n')}\n`
    expect(await whatOf(all.replace('"at":1', '"at":2'))).toMatch(/not signed/)
    expect(await whatOf(`${lines.toSpliced(1, 1).join('\n')}\n`)).toMatch(/heads between position start and \d+ are gone/)
    expect(await whatOf(all.replace('{"from"', '{from'))).toMatch(/line 1 of the log heads cannot be read/)
    expect(await whatOf(`${all}${lines[0]?.slice(0, 50)}`)).toBeUndefined()
    await noteHeads(copy)
    expect(readFileSync(file, 'utf8')).toBe(all)
    rmSync(join(copy, 'audit.key'))
    expect(await verifyStore(copy)).toMatchObject({ divergences: 0, log: { signed: false } })
    expect(await verifyStore(copy, { keyFile: join(honest, 'audit.key') })).toMatchObject({
      divergences: 0,
      log: { signed: true },
    })
    rmSync(file)
    writeFileSync(join(copy, 'audit.key'), readFileSync(join(honest, 'audit.key')), { mode: 0o600 })
    expect((await verifyStore(copy)).first?.what).toMatch(/the log heads are gone/)
  })

  test('a market that starts on an older copy of its store says so', async () => {
    const copy = wholeCopyOf(honest)
    tamper(copy, (db) => db.exec(`delete from events where position > ${rows.length - 3}`), true)
    const product = await startProduct(copy, { PENSTOCK_LOG_LEVEL: 'error' })
    await until('it is logged', () => product.output().includes('the store lacks events'))
    // What takes the place of the lost events never passes for them.
    const report = await product.operator<AuditReport>('POST', '/audit/verify', {})
    expect(report.divergences).toBeGreaterThan(0)
    await product.stop()
  })
})
