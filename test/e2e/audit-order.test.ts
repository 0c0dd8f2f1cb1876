import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { checkExport } from '@penstock/runtime/audit-check.ts'
import { parseHead } from '@penstock/runtime/audit-heads.ts'
import { digestOf, type ExportedStream, type OrderExport, summaryOf } from '@penstock/runtime/audit-export.ts'
import { metaOf, seal } from '@penstock/runtime/event-codec.ts'
import { audited } from '@penstock/standalone/services.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Bought } from '../harness/buyer.ts'
import { scratch, startProduct } from '../harness/product.ts'
import { attempt, sale } from './audit-sale.ts'
import { checkout, copyOf, type Row, rowsOf, tamper, wholeCopyOf } from './audit-store.ts'

const root = resolve(import.meta.dirname, '../..')
const honest = scratch()
let bought: Bought
let rows: readonly Row[]

beforeAll(async () => {
  bought = await sale(honest)
  rows = rowsOf(honest)
})

const penstock = (...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'packages/cli/src/main.ts'), ...args], {
    encoding: 'utf8',
    env: { PENSTOCK_DATA_DIR: honest },
  })
  return { code: status, out: stdout, err: stderr }
}

describe('one order', () => {
  test('replay prints every fact and the state after it, by a running market and without one', async () => {
    const { code, out } = penstock('audit', 'replay', '--order', bought.id, '--store', honest, '--json')
    expect(code).toBe(0)
    const replay = JSON.parse(out) as {
      facts: readonly { position: string; stream: string; fact: string; state: { status?: string } }[]
    } // as the command line documents it
    const categories = new Set(replay.facts.map(({ stream }) => stream.slice(0, stream.indexOf('-'))))
    expect([...categories].toSorted()).toEqual([
      'channel',
      'match',
      'offer',
      'order',
      'outpoint',
      'payhash',
      'quote',
      'seller',
      'settlement',
    ])
    expect(replay.facts.findLast(({ stream }) => stream.startsWith('order-'))?.state.status).toBe('VALID_CHANNEL_OPENING')
    expect(replay.facts.map(({ position }) => Number(position))).toEqual(
      replay.facts.map(({ position }) => Number(position)).toSorted((a, b) => a - b),
    )
    expect(replay.facts.length).toBe(
      rows.filter(({ name, meta }) => !name.startsWith('account-') && meta.includes(`"correlation":"${bought.id}"`)).length,
    )
    const text = penstock('audit', 'replay', '--order', bought.id, '--store', honest).out
    expect(text).toContain('status WAITING_FOR_CHANNEL_OPEN -> SELLER_SENT_TRANSACTION')
    const product = await startProduct(wholeCopyOf(honest))
    const running = await product.operator<typeof replay>('GET', `/audit/replay/${bought.id}`)
    expect(running.facts.slice(0, replay.facts.length)).toEqual(replay.facts)
    expect(await product.operator('GET', `/audit/export/${bought.id}`)).toMatchObject({
      format: 'penstock-order',
      order: bought.id,
    })
    await expect(product.operator('GET', '/audit/replay/00000000-0000-4000-8000-000000000000')).rejects.toThrow('404')
    await product.stop()
    expect(penstock('audit', 'replay', '--order', '00000000-0000-4000-8000-000000000000', '--store', honest)).toEqual({
      code: 1,
      out: '',
      err: `${honest} has no order 00000000-0000-4000-8000-000000000000.\n`,
    })
  })

  test('an export proves itself, and any changed character of it is found', () => {
    const file = join(scratch(), 'order.json')
    expect(penstock('audit', 'export', '--order', bought.id, '--out', file, '--store', honest)).toMatchObject({ code: 0 })
    const whole = penstock('audit', 'check', file)
    expect(whole.code).toBe(0)
    expect(whole.out).toContain('The file is whole.')
    const text = JSON.stringify(JSON.parse(readFileSync(file, 'utf8')))
    const services = audited()
    fc.assert(
      fc.property(fc.nat(text.length - 1), (index) => {
        const changed = `${text.slice(0, index)}${text[index] === '7' ? '8' : '7'}${text.slice(index + 1)}`
        const found = attempt(() => checkExport(changed, services).divergences.length)
        assert.notEqual(found, 0, changed.slice(index - 30, index + 30))
      }),
      { numRuns: 300 },
    )
    const one = JSON.parse(text) as { streams: { events: unknown[] }[] }
    one.streams[0]?.events.pop()
    writeFileSync(file, JSON.stringify(one))
    expect(penstock('audit', 'check', file)).toMatchObject({ code: 1 })
    writeFileSync(file, '{}')
    expect(penstock('audit', 'check', file).err).toMatch(/cannot be verified: it is no exported order/)
  })
})

test('heads without their key prove nothing, unless one is content with that', () => {
  const copy = copyOf(honest)
  expect(penstock('audit', 'verify', '--store', copy)).toMatchObject({ code: 0 })
  rmSync(join(copy, 'audit.key'))
  const unsigned = penstock('audit', 'verify', '--store', copy)
  expect(unsigned.code).toBe(1)
  expect(unsigned.err).toContain('prove nothing')
  expect(penstock('audit', 'verify', '--store', copy, '--unsigned')).toMatchObject({ code: 0 })
  expect(penstock('audit', 'verify', '--store', copy, '--key', join(honest, 'audit.key'))).toMatchObject({ code: 0 })
})

test('a store whose heads are gone together with their key proves nothing, unless a note or the auditor says otherwise', () => {
  const copy = copyOf(honest)
  const { log } = JSON.parse(penstock('audit', 'verify', '--store', copy, '--json').out) as { log: { note: string } }
  tamper(copy, (db) => db.exec(`delete from events where position > ${rows.length - 10}`), true)
  const cut = penstock('audit', 'verify', '--store', copy)
  expect(cut).toMatchObject({ code: 1 })
  for (const file of ['audit.heads', 'audit.key']) rmSync(join(copy, file))
  // Nor does a file that only looks like heads.
  writeFileSync(join(copy, 'audit.heads'), 'x')
  expect(penstock('audit', 'verify', '--store', copy).err).toContain('There are no log heads')
  rmSync(join(copy, 'audit.heads'))
  const bare = penstock('audit', 'verify', '--store', copy)
  expect(bare.code).toBe(1)
  expect(bare.out).toContain('There are no log heads')
  expect(bare.err).toContain('There are no log heads')
  expect(penstock('audit', 'verify', '--store', copy, '--unsigned')).toMatchObject({ code: 0 })
  expect(penstock('audit', 'verify', '--store', copy, '--note', log.note).err).toMatch(
    /the store ends at \d+, the given note knows \d+/,
  )
  const whole = copyOf(honest)
  for (const file of ['audit.heads', 'audit.key']) rmSync(join(whole, file))
  expect(penstock('audit', 'verify', '--store', whole, '--note', log.note)).toMatchObject({ code: 0 })
})

/** Down to an event that has the hash of a state: the last one of the append before. */
function withoutLastAppend(events: ExportedStream['events']): void {
  do events.pop()
  while (events.length > 0 && metaOf(events.at(-1) ?? { meta: '{}' }).state === undefined)
}

describe('an exported order and the log heads of its market', () => {
  const exportTo = (store: string, file: string) =>
    penstock('audit', 'export', '--order', bought.id, '--out', file, '--store', store)
  /** As somebody would who knows how the file is made. */
  function forged(text: string, change: (streams: ExportedStream[], file: OrderExport) => void): string {
    const file = JSON.parse(text) as OrderExport & { streams: ExportedStream[] } // the command wrote it
    change(file.streams, file)
    const bare = { ...file, summary: summaryOf(file.streams) }
    Reflect.deleteProperty(bare, 'digest')
    return JSON.stringify({ ...bare, digest: digestOf(bare) })
  }
  /** A sale of another market. */
  const otherSale = () => JSON.parse(readFileSync(join(root, 'services/standalone/golden/sale.json'), 'utf8')) as OrderExport // it is checked elsewhere
  const without = (streams: ExportedStream[], name: string): void =>
    void streams.splice(
      streams.findIndex(({ stream }) => stream === name),
      1,
    )

  test('a file that was made from another one agrees with itself, and not with the heads', () => {
    const file = join(scratch(), 'order.json')
    expect(exportTo(honest, file)).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const check = (...args: readonly string[]) => penstock('audit', 'check', file, ...args)
    expect(check('--heads', honest)).toMatchObject({ code: 0 })
    const keyless = scratch()
    copyFileSync(join(honest, 'audit.heads'), join(keyless, 'audit.heads'))
    expect(check('--heads', keyless).err).toContain('prove nothing')
    expect(check('--heads', keyless, '--key', join(honest, 'audit.key'))).toMatchObject({ code: 0 })
    expect(check('--heads', scratch()).err).toContain('there are no log heads')
    const order = `order-${bought.id}`
    const [firstHead = ''] = readFileSync(join(honest, 'audit.heads'), 'utf8').split('\n')
    const headOf = (line: string) => {
      const { position, events, at, hash } = parseHead(line)
      return { position, events, at, hash }
    }
    const forgeries: readonly (readonly [said: RegExp, change: Parameters<typeof forged>[1]])[] = [
      [
        /^order-.* diverges at revision \d+: its revision \d+ was there at .*, and the file lacks it/,
        (streams) => void streams.find(({ stream }) => stream === order)?.events.splice(3),
      ],
      [/^settlement-.*: it was there at .*, and the file lacks it/, (streams) => without(streams, `settlement-${bought.id}`)],
      [
        /the log head of the file, at position 1, is none of these/,
        (_, one) => Object.assign(one, { head: { position: '1', events: 1, at: 1, hash: 'f'.repeat(64) } }),
      ],
      // Whoever makes a file chooses its head, and can name one that was true when less was there.
      [
        /1 of this order's streams have more facts than the file/,
        (streams, one) => {
          without(streams, `settlement-${bought.id}`)
          Object.assign(one, { head: headOf(firstHead) })
        },
      ],
      [
        /1 of this order's streams have more facts than the file/,
        (streams, one) => {
          without(streams, `channel-${bought.id}`)
          Object.assign(one, { head: null })
        },
      ],
      [/No log head has \d+ of the facts/, (_, one) => Object.assign(one, otherSale(), { head: one.head })],
    ]
    for (const [said, change] of forgeries) {
      writeFileSync(file, forged(text, change))
      expect(check()).toMatchObject({ code: 0 })
      const found = check('--heads', honest)
      expect(found.code).toBe(1)
      expect(found.err).toMatch(said)
      // With heads that nobody signed one may be content, and not with what they tell.
      expect(check('--heads', keyless, '--unsigned')).toMatchObject({ code: 1, err: found.err })
    }
  })

  test('facts of another order, or at other places, are found in a file whose hashes all fit', () => {
    const file = join(scratch(), 'order.json')
    expect(exportTo(honest, file)).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const check = (change: Parameters<typeof forged>[1], ...args: readonly string[]) => {
      writeFileSync(file, forged(text, change))
      return penstock('audit', 'check', file, ...args)
    }
    const movedBy = (streams: ExportedStream[], places: number): void => {
      for (const event of streams.flatMap((one) => one.events)) event.position = `${BigInt(event.position) + BigInt(places)}`
    }
    const others = otherSale().streams.filter(({ stream }) => /^(settlement|payhash)-/.test(stream))
    expect(others.length).toBeGreaterThan(1)
    for (const other of others)
      expect(
        check((streams) => {
          movedBy(streams, 1_000_000)
          streams.push(other)
        }),
      ).toMatchObject({ code: 1, err: expect.stringContaining(`${other.stream} is no stream of this order`) as string })
    // Of a stream that orders share, what concerns another one, with the hashes that it has there.
    const isShared = ({ whole }: ExportedStream): boolean => !whole
    const joined = check((streams) => {
      const shared = streams.find(isShared)
      const last = shared?.events.at(-1)
      assert.ok(shared && last)
      const { chain: previous } = metaOf(last)
      const fact = { type: last.type, v: 1, data: { orderId: 'another' } }
      const meta = { command: 'c', at: 0, correlation: 'another', trace: 't' }
      const place = { stream: shared.stream, revision: last.revision + 1, chain: previous }
      const [foreign] = seal(place, [{ id: 'e', fact, meta }]).events
      assert.ok(foreign)
      shared.events.push({ ...foreign, revision: place.revision, position: '999999', previous })
    })
    expect(joined).toMatchObject({
      code: 1,
      err: expect.stringMatching(/(offer|seller)-\S+ has facts of other orders/) as string,
    })
    const claimed = check((streams) => Object.assign(streams.find(isShared) ?? {}, { whole: true }))
    expect(claimed.code).toBe(1)
    expect(penstock('audit', 'check', file, '--json').out).toContain('is said to be of this order alone')
    const swapped = check((streams) => {
      const [one, two] = streams[0]?.events ?? []
      assert.ok(one && two)
      ;[one.position, two.position] = [two.position, one.position]
    })
    expect(swapped).toMatchObject({ code: 1, err: expect.stringContaining('do not stand at the positions of one log') as string })
    const shifted = (streams: ExportedStream[]): void => movedBy(streams, 1_000_000)
    expect(check(shifted)).toMatchObject({ code: 0 })
    expect(check(shifted, '--heads', honest)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/its revision \d+ had another position at/) as string,
    })
  })

  test('a file that is older than the heads is told from one that is whole, unless that is enough', () => {
    const file = join(scratch(), 'order.json')
    expect(exportTo(honest, file)).toMatchObject({ code: 0 })
    const whole = readFileSync(file, 'utf8')
    const [firstHead = ''] = readFileSync(join(honest, 'audit.heads'), 'utf8').split('\n')
    const { position, events, at, hash } = parseHead(firstHead)
    const earlier = (cut: (streams: ExportedStream[]) => void): void =>
      writeFileSync(
        file,
        forged(whole, (streams, one) => {
          cut(streams)
          Object.assign(one, { head: { position, events, at, hash } })
        }),
      )
    const check = (...args: readonly string[]) => penstock('audit', 'check', file, '--heads', honest, ...args)
    earlier((streams) => without(streams, `channel-${bought.id}`))
    expect(check()).toMatchObject({ code: 1, err: expect.stringContaining('Export the order again, or say --earlier') as string })
    expect(check('--earlier')).toMatchObject({ code: 0 })
    // Between two heads nobody knows what was there.
    earlier((streams) => withoutLastAppend(streams.find(({ stream }) => stream === `settlement-${bought.id}`)?.events ?? []))
    expect(check('--earlier')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No log head has \d+ of the facts/) as string,
    })
  })

  test('where log heads are yet to begin an order is exported, and said to be compared with none', () => {
    const copy = copyOf(honest)
    rmSync(join(copy, 'audit.heads'))
    const file = join(scratch(), 'order.json')
    expect(exportTo(copy, file)).toMatchObject({
      code: 0,
      out: expect.stringContaining('It was compared with no log heads') as string,
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ head: null })
    expect(penstock('audit', 'check', file)).toMatchObject({ code: 0 })
    // Heads that were kept elsewhere, or come later, know all of it.
    expect(penstock('audit', 'check', file, '--heads', honest)).toMatchObject({ code: 0 })
  })

  test('what somebody cut off in the store is not exported as whole', () => {
    const copy = copyOf(honest)
    const last = rows.findLast(({ name }) => name === `settlement-${bought.id}`)
    tamper(copy, (db) => db.exec(`delete from events where position = ${last?.position ?? 0}`), true)
    const { code, err } = exportTo(copy, join(scratch(), 'order.json'))
    expect(code).toBe(1)
    expect(err).toMatch(/not what its (log heads|hashes) say: settlement-/)
  })
})

test('replay of a store with a fact that cannot be read says which', () => {
  const copy = copyOf(honest)
  const broken = rows.find(({ name }) => name === `settlement-${bought.id}`)
  tamper(copy, (db) => db.prepare("update events set data = 'x' || data where position = ?").run(broken?.position ?? 0))
  const { code, out, err } = penstock('audit', 'replay', '--order', bought.id, '--store', copy)
  expect(code).toBe(1)
  expect(err).toContain(`settlement-${bought.id} diverges at revision 0`)
  expect(out).toContain('OrderPlaced')
})

test('diff names the first place where another version of the code makes something else of a stream', async () => {
  const other = checkout(root)
  symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'))
  const diff = async (): Promise<{ code: number; out: string; err: string }> =>
    promisify(execFile)(process.execPath, [
      join(root, 'packages/cli/src/main.ts'),
      'audit',
      'diff',
      '--against',
      other,
      '--store',
      honest,
      '--json',
    ]).then(
      ({ stdout }) => ({ code: 0, out: stdout, err: '' }),
      (error: { code: number; stdout: string; stderr: string }) => ({ code: error.code, out: error.stdout, err: error.stderr }),
    )
  expect(JSON.parse((await diff()).out)).toMatchObject({ events: rows.length, differences: [] })

  const payhash = join(other, 'services/settlement/src/payhash.ts')
  const evolve = readFileSync(payhash, 'utf8')
  chmodSync(payhash, 0o644)
  writeFileSync(payhash, evolve.replace(/owner: data\.orderId/, "owner: 'somebody'"))
  expect(readFileSync(payhash, 'utf8')).not.toBe(evolve)
  const changed = await diff()
  const claim = rows.find(({ name }) => name.startsWith('payhash-'))
  expect(changed.code).toBe(1)
  expect(changed.err).toBe(
    `${claim?.name} differs between the two versions at revision 0: another state follows, by projection 1\n`,
  )
  expect(JSON.parse(changed.out)).toMatchObject({
    differences: [{ stream: claim?.name, revision: 0, fact: 'PayhashClaimed v1' }],
  })

  writeFileSync(payhash, evolve)
  rmSync(join(other, 'services/standalone/src/audit-states.ts'))
  expect((await diff()).err).toMatch(/is no checkout of a version that can be compared/)
})
