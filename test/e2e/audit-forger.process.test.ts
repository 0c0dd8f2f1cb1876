import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport } from '@penstock/audit/verify.ts'
import { parseHead } from '@penstock/audit/heads.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { buyChannel } from '../support/market-client.ts'
import { runPenstock } from '../support/run-penstock.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import { copyAuditedSale } from './audit-sale.ts'
import { copyStore, recomputeChain, readRows, tamper, copyDataDir } from './audit-store.ts'
import { runProgramSync } from '../support/processes.ts'

const honestFolder = makeTempFolder()
let order: string

beforeAll(async () => {
  order = (await copyAuditedSale(honestFolder)).id
})

const readHeads = (folder: string): readonly string[] => readFileSync(join(folder, 'audit.heads'), 'utf8').trimEnd().split('\n')

/** Forges a folder as an attacker without the audit key: rewrites all facts and hashes, and keeps only the first log head. */
function forgeChain(folder: string, { state, at }: { readonly state: 'removed' | 'recomputed'; readonly at: number }): void {
  const forged = recomputeChain(readRows(folder), (meta, row) => {
    meta['at'] = at
    if (state === 'removed') delete meta['state']
    if (row.name.startsWith('quote-')) row.data = row.data.replace(/^\{(?=")/, '{"forged":1,')
  })
  tamper(folder, (db) => {
    const update = db.prepare('update events set data = ?, meta = ? where position = ?')
    for (const { data, meta, position } of forged) update.run(data, meta, position)
  })
  writeFileSync(join(folder, 'audit.heads'), `${readHeads(folder)[0]}\n`)
}

const readFirstHeadTime = (folder: string): number => parseHead(readHeads(folder)[0] ?? '').at

async function readMetric(product: Product, name: string): Promise<number | undefined> {
  const token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
  const page = await fetch(`${product.url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const [, value] = RegExp(`^${name} (.*)$`, 'm').exec(await page.text()) ?? []
  return value === undefined ? undefined : Number(value)
}

describe('a store that was rewritten completely, without the key', () => {
  test('fails the audit if the forger removes the state hashes, or keeps the file with the last end of the log', async () => {
    const folder = copyDataDir(honestFolder)
    forgeChain(folder, { state: 'removed', at: readFirstHeadTime(honestFolder) })
    rmSync(join(folder, 'audit.end'))
    const bare = await verifyStore(folder)
    expect(bare.divergences).toBe(bare.streams)
    expect(bare.first?.what).toBe('the last event of its append has no state hash')

    const forgedFolder = copyDataDir(honestFolder)
    forgeChain(forgedFolder, { state: 'recomputed', at: readFirstHeadTime(honestFolder) })
    expect((await verifyStore(forgedFolder)).findings).toEqual([
      {
        stream: 'log',
        revision: readRows(honestFolder).length,
        what: expect.stringMatching(/is not the one of the last known end/) as string,
      },
    ])
  })

  test('is not signed by the next start, which logs and records a gap between the signed log and the store', async () => {
    const folder = copyDataDir(honestFolder)
    forgeChain(folder, { state: 'recomputed', at: readFirstHeadTime(honestFolder) + 120_000 })
    rmSync(join(folder, 'audit.end'))
    // The folder alone does not show the forgery. The note of an earlier audit does.
    const { note = '' } = (await verifyStore(honestFolder)).log ?? {}
    expect((await verifyStore(folder)).divergences).toBe(0)
    expect((await verifyStore(folder, { note })).first?.what).toMatch(/is not the one of the given note/)

    const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(product.output()).toMatch(/more follows the last log head than a kill can leave/)
    expect(await readMetric(product, 'penstock_audit_gap_timestamp_seconds')).toBeGreaterThan(1e9)
    const running = await product.operator<AuditReport>('POST', '/audit/verify', {})
    expect(running).toMatchObject({ divergences: 0, log: { unproven: 'gap', gaps: [{ from: 'start' }] } })
    expect(running.log?.gaps[0]?.events).toBeGreaterThanOrEqual(readRows(honestFolder).length)
    expect(await product.stop()).toBe(0)

    const restarted = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(restarted.output()).not.toMatch(/than a kill can leave/)
    expect(await restarted.stop()).toBe(0)
    const verify = ['audit', 'verify', '--store', folder]
    const { code, stderr, answer } = await runPenstock<AuditReport>(verify)
    expect({ code, err: stderr }).toEqual({
      code: 1,
      err: expect.stringMatching(/stood without heads for longer than a kill explains/) as string,
    })
    expect(answer.log?.gaps).toHaveLength(1)
    // An auditor who has examined the gap passes the new note to later audits.
    expect(await runPenstock(['audit', 'verify', '--store', folder, '--note', answer.log?.note ?? ''])).toMatchObject({ code: 0 })
  })
})

describe('an honest market', () => {
  test('has no gap after kills and a stop, and the stop records an end of the log that covers the last event', async () => {
    const folder = copyDataDir(honestFolder)
    for (let round = 0; round < 2; round++) {
      const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
      await Promise.all([buyChannel(product), buyChannel(product)])
      await product.kill()
    }
    const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    const buying = Array.from({ length: 6 }, () => buyChannel(product).catch(() => undefined))
    await waitUntil('new orders in the store', () => readRows(folder).length > readRows(honestFolder).length + 40)
    expect(await product.stop()).toBe(0)
    await Promise.all(buying)
    const end = JSON.parse(readFileSync(join(folder, 'audit.end'), 'utf8')) as { events: number; closed: boolean } // the market wrote it
    expect(end).toMatchObject({ events: readRows(folder).length, closed: true })
    const restarted = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(restarted.output()).not.toMatch(/than a kill can leave/)
    expect(await restarted.stop()).toBe(0)
    expect(await verifyStore(folder)).toMatchObject({ divergences: 0, log: { unproven: null, gaps: [], events_after: 0 } })
  })
})

describe('the audit of a damaged or foreign store', () => {
  test('reports a store of another market in a single finding', async () => {
    const other = copyStore(honestFolder)
    const foreign = makeTempFolder()
    const product = await startProduct(foreign)
    await buyChannel(product)
    await product.stop()
    for (const file of ['audit.heads', 'audit.key', 'audit.end'])
      writeFileSync(join(other, file), readFileSync(join(foreign, file)), { mode: 0o600 })
    const { divergences, first, log } = await verifyStore(other)
    expect({ divergences, first }).toMatchObject({ divergences: 1, first: { stream: 'log' } })
    expect(first?.what).toBe(
      `this store belongs to another market: it begins with ${log?.store_begins_with}, and its heads with ${log?.heads_begin_with}`,
    )
    const begins = (folder: string) => readRows(folder).find(({ name }) => !name.startsWith('price-'))?.name
    expect([log?.store_begins_with, log?.heads_begin_with]).toEqual([begins(honestFolder), begins(foreign)])
  })

  test('reports a revision of another type and an event at a huge position, and terminates', async () => {
    const typed = copyStore(honestFolder)
    tamper(typed, (db) => db.exec('update events set revision = cast(cast(revision as text) as blob) where position = 20'))
    expect((await verifyStore(typed)).findings[0]).toMatchObject({ what: expect.stringMatching(/\(revision\)/) as string })
    const far = copyDataDir(honestFolder)
    tamper(far, (db) =>
      db.exec(`update events set position = ${Number.MAX_SAFE_INTEGER - 100_000} where position = ${readRows(far).length}`),
    )
    const report = await verifyStore(far)
    expect(report.divergences).toBeGreaterThan(0)
    const product = await startProduct(far, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(await product.stop()).toBe(0)
  })

  test('reports no JavaScript or library error as a finding', async () => {
    for (const change of ["data = '['", "meta = 'null'", "meta = '{}'", "type = 'toString'", "data = 'null'"]) {
      const copy = copyStore(honestFolder)
      tamper(copy, (db) => db.exec(`update events set ${change} where position in (5, 30)`))
      const { findings } = await verifyStore(copy)
      expect(findings.length).toBeGreaterThan(0)
      for (const { what } of findings) expect(what).not.toMatch(/Error|JSON|undefined|Cannot read|Unexpected|invalid_/)
    }
    const torn = copyStore(honestFolder)
    const bytes = readFileSync(join(torn, 'market.db'))
    writeFileSync(join(torn, 'market.db'), bytes.fill(0x77, 16_384, bytes.length - 8192))
    const { code, stderr } = await runPenstock(['audit', 'verify', '--store', torn])
    expect(code).toBe(1)
    expect(stderr).toMatch(/damaged/)
    expect(stderr).not.toMatch(/malformed|SQLITE/)
  })

  test('exports no order whose facts do not match their hashes', async () => {
    const copy = copyStore(honestFolder)
    for (const file of ['audit.heads', 'audit.key']) rmSync(join(copy, file))
    const row = readRows(honestFolder).find(({ name, data }) => name === `settlement-${order}` && /\d/.test(data))
    tamper(copy, (db) =>
      db.prepare("update events set data = replace(data, '1', '2') where position = ?").run(row?.position ?? 0),
    )
    const out = join(copy, 'order.json')
    const { code, stderr } = await runPenstock(['audit', 'export', '--order', order, '--out', out, '--store', copy])
    expect(code).toBe(1)
    expect(stderr).toMatch(/not what its hashes say: settlement-.* the chain hash does not cover the event/)
    expect(existsSync(out)).toBe(false)
  })
})

// Only root can run the reader as another user, which cannot write to the folder.
test.skipIf(process.getuid?.() !== 0)('the audit verifies a store on read-only media', async () => {
  const root = join(import.meta.dirname, '../..')
  const NOBODY = 65_534
  const media = makeTempFolder()
  chmodSync(media, 0o755)
  const folder = join(media, 'copy')
  mkdirSync(folder)
  for (const file of ['market.db', 'audit.heads', 'audit.key', 'audit.end']) {
    writeFileSync(join(folder, file), readFileSync(join(honestFolder, file)), { mode: 0o400 })
    chownSync(join(folder, file), NOBODY, NOBODY)
  }
  const runVerify = () => {
    chmodSync(folder, 0o555)
    const run = runProgramSync(
      process.execPath,
      [join(root, 'packages/cli/src/main.ts'), 'audit', 'verify', '--store', folder, '--json'],
      { uid: NOBODY, gid: NOBODY, env: { TMPDIR: '/tmp', PATH: process.env['PATH'] } },
    )
    chmodSync(folder, 0o755)
    return { code: run.code, err: run.stderr, report: JSON.parse(run.stdout || 'null') as AuditReport | null }
  }
  expect(runVerify()).toMatchObject({ code: 0, err: '', report: { events: readRows(honestFolder).length, divergences: 0 } })
  expect(readdirSync(folder)).toHaveLength(4)
})
