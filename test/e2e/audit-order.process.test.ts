import assert from 'node:assert/strict'
import { chmodSync, copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkExport } from '@penstock/audit/check-export.ts'
import { parseHead } from '@penstock/audit/heads.ts'
import { computeDigest, type ExportedStream, type OrderExport, summarise } from '@penstock/audit/export-order.ts'
import { readMeta, sealFacts } from '@penstock/runtime/commands/event-codec.ts'
import { createStreamServices } from '@penstock/standalone/registry.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PurchasedOrder } from '../support/market-client.ts'
import { makeTempFolder, startProduct } from '../support/product.ts'
import { tryOrUndefined, copyAuditedSale } from './audit-sale.ts'
import { copyCheckout, copyStore, type EventRow, readRows, tamper, copyDataDir } from './audit-store.ts'
import { runProgramSync, runProgram } from '../support/processes.ts'

const root = resolve(import.meta.dirname, '../..')
const honestFolder = makeTempFolder()
let purchase: PurchasedOrder
let rows: readonly EventRow[]

beforeAll(async () => {
  purchase = await copyAuditedSale(honestFolder)
  rows = readRows(honestFolder)
})

const runAudit = (...args: readonly string[]) => {
  const { code, stdout, stderr } = runProgramSync(process.execPath, [join(root, 'packages/cli/src/main.ts'), ...args], {
    env: { PENSTOCK_DATA_DIR: honestFolder },
  })
  return { code, out: stdout, err: stderr }
}

describe('the audit of one order', () => {
  test('audit replay prints every fact and the state after each, from a running market and from a store', async () => {
    const { code, out } = runAudit('audit', 'replay', '--order', purchase.id, '--store', honestFolder, '--json')
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
      rows.filter(({ name, meta }) => !name.startsWith('account-') && meta.includes(`"correlation":"${purchase.id}"`)).length,
    )
    const text = runAudit('audit', 'replay', '--order', purchase.id, '--store', honestFolder).out
    expect(text).toContain('status WAITING_FOR_CHANNEL_OPEN -> SELLER_SENT_TRANSACTION')
    const product = await startProduct(copyDataDir(honestFolder))
    const running = await product.operator<typeof replay>('GET', `/audit/replay/${purchase.id}`)
    expect(running.facts.slice(0, replay.facts.length)).toEqual(replay.facts)
    expect(await product.operator('GET', `/audit/export/${purchase.id}`)).toMatchObject({
      format: 'penstock-order',
      order: purchase.id,
    })
    await expect(product.operator('GET', '/audit/replay/00000000-0000-4000-8000-000000000000')).rejects.toThrow('404')
    await product.stop()
    expect(runAudit('audit', 'replay', '--order', '00000000-0000-4000-8000-000000000000', '--store', honestFolder)).toEqual({
      code: 1,
      out: '',
      err: `${honestFolder} has no order 00000000-0000-4000-8000-000000000000.\n`,
    })
  })

  test('an unchanged export passes the check, and any changed character fails it', () => {
    const file = join(makeTempFolder(), 'order.json')
    expect(runAudit('audit', 'export', '--order', purchase.id, '--out', file, '--store', honestFolder)).toMatchObject({ code: 0 })
    const original = runAudit('audit', 'check', file)
    expect(original.code).toBe(0)
    expect(original.out).toContain('The file is whole.')
    const text = JSON.stringify(JSON.parse(readFileSync(file, 'utf8')))
    const services = createStreamServices()
    fc.assert(
      fc.property(fc.nat(text.length - 1), (index) => {
        const changed = `${text.slice(0, index)}${text[index] === '7' ? '8' : '7'}${text.slice(index + 1)}`
        const divergences = tryOrUndefined(() => checkExport(changed, services).divergences.length)
        assert.notEqual(divergences, 0, changed.slice(index - 30, index + 30))
      }),
      { numRuns: 300 },
    )
    const one = JSON.parse(text) as { streams: { events: unknown[] }[] }
    one.streams.find(({ events }) => events.length > 1)?.events.pop()
    writeFileSync(file, JSON.stringify(one))
    expect(runAudit('audit', 'check', file)).toMatchObject({ code: 1 })
    writeFileSync(file, '{}')
    expect(runAudit('audit', 'check', file).err).toMatch(/cannot be verified: it is no exported order/)
  })
})

test('log heads without their key fail the audit, unless --unsigned accepts them or --key gives the key', () => {
  const copy = copyStore(honestFolder)
  expect(runAudit('audit', 'verify', '--store', copy)).toMatchObject({ code: 0 })
  rmSync(join(copy, 'audit.key'))
  const unsigned = runAudit('audit', 'verify', '--store', copy)
  expect(unsigned.code).toBe(1)
  expect(unsigned.err).toContain('prove nothing')
  expect(runAudit('audit', 'verify', '--store', copy, '--unsigned')).toMatchObject({ code: 0 })
  expect(runAudit('audit', 'verify', '--store', copy, '--key', join(honestFolder, 'audit.key'))).toMatchObject({ code: 0 })
})

test('a store without log heads and key fails the audit, unless --unsigned or the note of an earlier audit is given', () => {
  const copy = copyStore(honestFolder)
  const { log } = JSON.parse(runAudit('audit', 'verify', '--store', copy, '--json').out) as { log: { note: string } }
  tamper(copy, (db) => db.exec(`delete from events where position > ${rows.length - 10}`), true)
  const cut = runAudit('audit', 'verify', '--store', copy)
  expect(cut).toMatchObject({ code: 1 })
  for (const file of ['audit.heads', 'audit.key']) rmSync(join(copy, file))
  // A file without a complete log head counts as a missing file.
  writeFileSync(join(copy, 'audit.heads'), 'x')
  expect(runAudit('audit', 'verify', '--store', copy).err).toContain('There are no log heads')
  rmSync(join(copy, 'audit.heads'))
  const bare = runAudit('audit', 'verify', '--store', copy)
  expect(bare.code).toBe(1)
  expect(bare.out).toContain('There are no log heads')
  expect(bare.err).toContain('There are no log heads')
  expect(runAudit('audit', 'verify', '--store', copy, '--unsigned')).toMatchObject({ code: 0 })
  expect(runAudit('audit', 'verify', '--store', copy, '--note', log.note).err).toMatch(
    /the store ends at \d+, the given note knows \d+/,
  )
  const original = copyStore(honestFolder)
  for (const file of ['audit.heads', 'audit.key']) rmSync(join(original, file))
  expect(runAudit('audit', 'verify', '--store', original, '--note', log.note)).toMatchObject({ code: 0 })
})

/** Removes the last append: all events after the previous event that has a state hash. */
function removeLastAppend(events: ExportedStream['events']): void {
  do events.pop()
  while (events.length > 0 && readMeta(events.at(-1) ?? { meta: '{}' }).state === undefined)
}

describe('an exported order and the log heads of its market', () => {
  const exportTo = (store: string, file: string) =>
    runAudit('audit', 'export', '--order', purchase.id, '--out', file, '--store', store)
  /** Changes a file and recomputes its summary and digest, as a forger who knows the format would. */
  function forgeExport(text: string, change: (streams: ExportedStream[], file: OrderExport) => void): string {
    const file = JSON.parse(text) as OrderExport & { streams: ExportedStream[] } // the command wrote it
    change(file.streams, file)
    const bare = { ...file, summary: summarise(file.streams) }
    Reflect.deleteProperty(bare, 'digest')
    return JSON.stringify({ ...bare, digest: computeDigest(bare) })
  }
  /** Reads a sale of another market. */
  const readOtherSale = () => JSON.parse(readFileSync(join(root, 'services/standalone/golden/sale.json'), 'utf8')) as OrderExport // another test checks it
  const removeStream = (streams: ExportedStream[], name: string): void =>
    void streams.splice(
      streams.findIndex(({ stream }) => stream === name),
      1,
    )

  test('a forged export passes the check without log heads, and fails the check with log heads', () => {
    const file = join(makeTempFolder(), 'order.json')
    expect(exportTo(honestFolder, file)).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const checkFile = (...args: readonly string[]) => runAudit('audit', 'check', file, ...args)
    expect(checkFile('--heads', honestFolder)).toMatchObject({ code: 0 })
    const keyless = makeTempFolder()
    copyFileSync(join(honestFolder, 'audit.heads'), join(keyless, 'audit.heads'))
    expect(checkFile('--heads', keyless).err).toContain('prove nothing')
    expect(checkFile('--heads', keyless, '--key', join(honestFolder, 'audit.key'))).toMatchObject({ code: 0 })
    expect(checkFile('--heads', makeTempFolder()).err).toContain('there are no log heads')
    const order = `order-${purchase.id}`
    const [firstHead = ''] = readFileSync(join(honestFolder, 'audit.heads'), 'utf8').split('\n')
    const headOf = (line: string) => {
      const { position, events, at, hash } = parseHead(line)
      return { position, events, at, hash }
    }
    const forgeries: readonly (readonly [finding: RegExp, change: Parameters<typeof forgeExport>[1]])[] = [
      [
        /^order-.* diverges at revision \d+: its revision \d+ was there at .*, and the file lacks it/,
        (streams) => void streams.find(({ stream }) => stream === order)?.events.splice(3),
      ],
      [
        /^settlement-.*: it was there at .*, and the file lacks it/,
        (streams) => removeStream(streams, `settlement-${purchase.id}`),
      ],
      [
        /the log head of the file, at position 1, is none of these/,
        (_, one) => Object.assign(one, { head: { position: '1', events: 1, at: 1, hash: 'f'.repeat(64) } }),
      ],
      // A forger chooses the log head in the file, and can insert a real but earlier head that covers fewer facts.
      [
        /1 of this order's streams have more facts than the file/,
        (streams, one) => {
          removeStream(streams, `settlement-${purchase.id}`)
          Object.assign(one, { head: headOf(firstHead) })
        },
      ],
      [
        /1 of this order's streams have more facts than the file/,
        (streams, one) => {
          removeStream(streams, `channel-${purchase.id}`)
          Object.assign(one, { head: null })
        },
      ],
      [/No log head has \d+ of the facts/, (_, one) => Object.assign(one, readOtherSale(), { head: one.head })],
    ]
    for (const [finding, change] of forgeries) {
      writeFileSync(file, forgeExport(text, change))
      expect(checkFile()).toMatchObject({ code: 0 })
      const divergences = checkFile('--heads', honestFolder)
      expect(divergences.code).toBe(1)
      expect(divergences.err).toMatch(finding)
      // `--unsigned` accepts heads without a signature. The findings by these heads still fail the check.
      expect(checkFile('--heads', keyless, '--unsigned')).toMatchObject({ code: 1, err: divergences.err })
    }
  })

  test('the check reports facts of another order, or at wrong positions, although all hashes of the file match', () => {
    const file = join(makeTempFolder(), 'order.json')
    expect(exportTo(honestFolder, file)).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const checkFile = (change: Parameters<typeof forgeExport>[1], ...args: readonly string[]) => {
      writeFileSync(file, forgeExport(text, change))
      return runAudit('audit', 'check', file, ...args)
    }
    const movePositions = (streams: ExportedStream[], places: number): void => {
      for (const event of streams.flatMap((one) => one.events)) event.position = `${BigInt(event.position) + BigInt(places)}`
    }
    const foreignStreams = readOtherSale().streams.filter(({ stream }) => /^(settlement|payhash)-/.test(stream))
    expect(foreignStreams.length).toBeGreaterThan(1)
    for (const other of foreignStreams)
      expect(
        checkFile((streams) => {
          movePositions(streams, 1_000_000)
          streams.push(other)
        }),
      ).toMatchObject({ code: 1, err: expect.stringContaining(`${other.stream} is no stream of this order`) as string })
    // Adds a fact of another order to a shared stream, with correct hashes for this place.
    const isShared = ({ whole: original }: ExportedStream): boolean => !original
    const joined = checkFile((streams) => {
      const shared = streams.find(isShared)
      const last = shared?.events.at(-1)
      assert.ok(shared && last)
      const { chain: previous } = readMeta(last)
      const fact = { type: last.type, v: 1, data: { orderId: 'another' } }
      const meta = { command: 'c', at: 0, correlation: 'another', trace: 't' }
      const position = { stream: shared.stream, revision: last.revision + 1, chain: previous }
      const [foreign] = sealFacts(position, [{ id: 'e', fact, meta }]).events
      assert.ok(foreign)
      shared.events.push({ ...foreign, revision: position.revision, position: '999999', previous })
    })
    expect(joined).toMatchObject({
      code: 1,
      err: expect.stringMatching(/(offer|seller)-\S+ has facts of other orders/) as string,
    })
    const claimed = checkFile((streams) => Object.assign(streams.find(isShared) ?? {}, { whole: true }))
    expect(claimed.code).toBe(1)
    expect(runAudit('audit', 'check', file, '--json').out).toContain('is said to be of this order alone')
    const swapped = checkFile((streams) => {
      const [one, two] = streams.find(({ events }) => events.length > 1)?.events ?? []
      assert.ok(one && two)
      ;[one.position, two.position] = [two.position, one.position]
    })
    expect(swapped).toMatchObject({ code: 1, err: expect.stringContaining('are not those of one log') as string })
    const shifted = (streams: ExportedStream[]): void => movePositions(streams, 1_000_000)
    expect(checkFile(shifted)).toMatchObject({ code: 0 })
    expect(checkFile(shifted, '--heads', honestFolder)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/its revision \d+ had another position at/) as string,
    })
  })

  test('an export that is older than the log heads is refused, unless --earlier accepts it', () => {
    const file = join(makeTempFolder(), 'order.json')
    expect(exportTo(honestFolder, file)).toMatchObject({ code: 0 })
    const original = readFileSync(file, 'utf8')
    const [firstHead = ''] = readFileSync(join(honestFolder, 'audit.heads'), 'utf8').split('\n')
    const { position, events, at, hash } = parseHead(firstHead)
    const earlier = (cut: (streams: ExportedStream[]) => void): void =>
      writeFileSync(
        file,
        forgeExport(original, (streams, one) => {
          cut(streams)
          Object.assign(one, { head: { position, events, at, hash } })
        }),
      )
    const checkFile = (...args: readonly string[]) => runAudit('audit', 'check', file, '--heads', honestFolder, ...args)
    earlier((streams) => removeStream(streams, `channel-${purchase.id}`))
    expect(checkFile()).toMatchObject({
      code: 1,
      err: expect.stringContaining('Export the order again, or say --earlier') as string,
    })
    expect(checkFile('--earlier')).toMatchObject({ code: 0 })
    // No head covers the exact facts at a point between two heads.
    earlier((streams) => removeLastAppend(streams.find(({ stream }) => stream === `settlement-${purchase.id}`)?.events ?? []))
    expect(checkFile('--earlier')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^No log head has \d+ of the facts/) as string,
    })
  })

  test('an order can be exported before the first log head, and the output then says that no heads were compared', () => {
    const copy = copyStore(honestFolder)
    rmSync(join(copy, 'audit.heads'))
    const file = join(makeTempFolder(), 'order.json')
    expect(exportTo(copy, file)).toMatchObject({
      code: 0,
      out: expect.stringContaining('It was compared with no log heads') as string,
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ head: null })
    expect(runAudit('audit', 'check', file)).toMatchObject({ code: 0 })
    // Log heads from another folder, or from a later time, cover all facts of the file.
    expect(runAudit('audit', 'check', file, '--heads', honestFolder)).toMatchObject({ code: 0 })
  })

  test('an order whose stream is truncated in the store is not exported', () => {
    const copy = copyStore(honestFolder)
    const last = rows.findLast(({ name }) => name === `settlement-${purchase.id}`)
    tamper(copy, (db) => db.exec(`delete from events where position = ${last?.position ?? 0}`), true)
    const { code, err } = exportTo(copy, join(makeTempFolder(), 'order.json'))
    expect(code).toBe(1)
    expect(err).toMatch(/not what its (log heads|hashes) say: settlement-/)
  })
})

test('audit replay reports the stream and the revision of an unreadable fact', () => {
  const copy = copyStore(honestFolder)
  const broken = rows.find(({ name }) => name === `settlement-${purchase.id}`)
  tamper(copy, (db) => db.prepare("update events set data = 'x' || data where position = ?").run(broken?.position ?? 0))
  const { code, out, err } = runAudit('audit', 'replay', '--order', purchase.id, '--store', copy)
  expect(code).toBe(1)
  expect(err).toContain(`settlement-${purchase.id} diverges at revision 0`)
  expect(out).toContain('OrderPlaced')
})

test('audit diff reports the first revision at which another version of the code folds a stream to another state', async () => {
  const other = copyCheckout(root)
  symlinkSync(join(root, 'node_modules'), join(other, 'node_modules'))
  const diff = () =>
    runProgram(process.execPath, [
      join(root, 'packages/cli/src/main.ts'),
      'audit',
      'diff',
      '--against',
      other,
      '--store',
      honestFolder,
      '--json',
    ])
  expect(JSON.parse((await diff()).stdout)).toMatchObject({ events: rows.length, differences: [] })

  const payhash = join(other, 'services/settlement/src/payment-hash-claim.ts')
  const evolve = readFileSync(payhash, 'utf8')
  chmodSync(payhash, 0o644)
  writeFileSync(payhash, evolve.replace(/owner: data\.orderId/, "owner: 'somebody'"))
  expect(readFileSync(payhash, 'utf8')).not.toBe(evolve)
  const changed = await diff()
  const claim = rows.find(({ name }) => name.startsWith('payhash-'))
  expect(changed.code).toBe(1)
  expect(changed.stderr).toBe(
    `${claim?.name} differs between the two versions at revision 0: another state follows, by projection 1\n`,
  )
  expect(JSON.parse(changed.stdout)).toMatchObject({
    differences: [{ stream: claim?.name, revision: 0, fact: 'PayhashClaimed v1' }],
  })

  writeFileSync(payhash, evolve)
  rmSync(join(other, 'services/standalone/src/audit-states.ts'))
  expect((await diff()).stderr).toMatch(/is no checkout of a version that can be compared/)
})
