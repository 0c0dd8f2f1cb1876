import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import { parseHead } from '@penstock/runtime/audit-heads.ts'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { until } from '@penstock/testkit/until.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { buy } from '../harness/buyer.ts'
import { penstock } from '../harness/penstock.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { sale } from './audit-sale.ts'
import { copyOf, rechain, rowsOf, tamper, wholeCopyOf } from './audit-store.ts'

const honest = scratch()
let order: string

beforeAll(async () => {
  order = (await sale(honest)).id
})

const headsOf = (folder: string): readonly string[] => readFileSync(join(folder, 'audit.heads'), 'utf8').trimEnd().split('\n')

/** What somebody with the folder, and without the key, does: write the facts anew with all hashes, and take the heads away. */
function forge(folder: string, { state, at }: { readonly state: 'removed' | 'made anew'; readonly at: number }): void {
  const forged = rechain(rowsOf(folder), (meta, row) => {
    meta['at'] = at
    if (state === 'removed') delete meta['state']
    if (row.name.startsWith('quote-')) row.data = row.data.replace(/^\{(?=")/, '{"forged":1,')
  })
  tamper(folder, (db) => {
    const update = db.prepare('update events set data = ?, meta = ? where position = ?')
    for (const { data, meta, position } of forged) update.run(data, meta, position)
  })
  writeFileSync(join(folder, 'audit.heads'), `${headsOf(folder)[0]}\n`)
}

const beganAt = (folder: string): number => parseHead(headsOf(folder)[0] ?? '').at

async function metric(product: Product, name: string): Promise<number | undefined> {
  const token = readFileSync(join(product.dataDir, 'operator.token'), 'utf8').trim()
  const page = await fetch(`${product.url}/operator/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const [, value] = RegExp(`^${name} (.*)$`, 'm').exec(await page.text()) ?? []
  return value === undefined ? undefined : Number(value)
}

describe('a forger who rewrites the whole store, without the key', () => {
  test('is found where he removes the state hashes, and where he leaves the known end of the log', async () => {
    const folder = wholeCopyOf(honest)
    forge(folder, { state: 'removed', at: beganAt(honest) })
    rmSync(join(folder, 'audit.end'))
    const bare = await verifyStore(folder)
    expect(bare.divergences).toBe(bare.streams)
    expect(bare.first?.what).toBe('the last event of its append has no state hash')

    const left = wholeCopyOf(honest)
    forge(left, { state: 'made anew', at: beganAt(honest) })
    expect((await verifyStore(left)).findings).toEqual([
      {
        stream: 'log',
        revision: rowsOf(honest).length,
        what: expect.stringMatching(/is not the one of the last known end/) as string,
      },
    ])
  })

  test('does not get the forgery signed by the next start: it says so, and marks for good what it found', async () => {
    const folder = wholeCopyOf(honest)
    forge(folder, { state: 'made anew', at: beganAt(honest) + 120_000 })
    rmSync(join(folder, 'audit.end'))
    // Nothing inside of the folder can tell; that of an earlier audit does.
    const { note = '' } = (await verifyStore(honest)).log ?? {}
    expect((await verifyStore(folder)).divergences).toBe(0)
    expect((await verifyStore(folder, { note })).first?.what).toMatch(/is not the one of the given note/)

    const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(product.output()).toMatch(/more follows the last log head than a kill can leave/)
    expect(await metric(product, 'penstock_audit_gap_timestamp_seconds')).toBeGreaterThan(1e9)
    const running = await product.operator<AuditReport>('POST', '/audit/verify', {})
    expect(running).toMatchObject({ divergences: 0, log: { unproven: 'gap', gaps: [{ from: 'start' }] } })
    expect(running.log?.gaps[0]?.events).toBeGreaterThanOrEqual(rowsOf(honest).length)
    expect(await product.stop()).toBe(0)

    const again = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(again.output()).not.toMatch(/than a kill can leave/)
    expect(await again.stop()).toBe(0)
    const verify = ['audit', 'verify', '--store', folder]
    const { code, err, answer } = await penstock<AuditReport>(verify)
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/stood without heads for longer than a kill explains/) as string,
    })
    expect(answer.log?.gaps).toHaveLength(1)
    // Who has looked into it keeps the note of now.
    expect(await penstock(['audit', 'verify', '--store', folder, '--note', answer.log?.note ?? ''])).toMatchObject({ code: 0 })
  })
})

describe('an honest market', () => {
  test('has no gap after kills in the middle, nor after a stop, and its closing end knows the last event', async () => {
    const folder = wholeCopyOf(honest)
    for (let round = 0; round < 2; round++) {
      const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
      await Promise.all([buy(product), buy(product)])
      await product.kill()
    }
    const product = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    const buying = Array.from({ length: 6 }, () => buy(product).catch(() => undefined))
    await until('something was bought', () => rowsOf(folder).length > rowsOf(honest).length + 40)
    expect(await product.stop()).toBe(0)
    await Promise.all(buying)
    const end = JSON.parse(readFileSync(join(folder, 'audit.end'), 'utf8')) as { events: number; closed: boolean } // the keeper wrote it
    expect(end).toMatchObject({ events: rowsOf(folder).length, closed: true })
    const restarted = await startProduct(folder, { PENSTOCK_LOG_LEVEL: 'error' })
    expect(restarted.output()).not.toMatch(/than a kill can leave/)
    expect(await restarted.stop()).toBe(0)
    expect(await verifyStore(folder)).toMatchObject({ divergences: 0, log: { unproven: null, gaps: [], events_after: 0 } })
  })
})

describe('what a store is', () => {
  test('a store of another market is named as such, in one finding', async () => {
    const other = copyOf(honest)
    const foreign = scratch()
    const product = await startProduct(foreign)
    await buy(product)
    await product.stop()
    for (const file of ['audit.heads', 'audit.key', 'audit.end'])
      writeFileSync(join(other, file), readFileSync(join(foreign, file)), { mode: 0o600 })
    const { divergences, first, log } = await verifyStore(other)
    expect({ divergences, first }).toMatchObject({ divergences: 1, first: { stream: 'log' } })
    expect(first?.what).toBe(
      `this store belongs to another market: it begins with ${log?.store_begins_with}, and its heads with ${log?.heads_begin_with}`,
    )
    const begins = (folder: string) => rowsOf(folder).find(({ name }) => !name.startsWith('price-'))?.name
    expect([log?.store_begins_with, log?.heads_begin_with]).toEqual([begins(honest), begins(foreign)])
  })

  test(
    'a revision of another type and an event at a huge position are found, and nothing stands still',
    { timeout: 60_000 },
    async () => {
      const typed = copyOf(honest)
      tamper(typed, (db) => db.exec('update events set revision = cast(cast(revision as text) as blob) where position = 20'))
      expect((await verifyStore(typed)).findings[0]).toMatchObject({ what: expect.stringMatching(/\(revision\)/) as string })
      const far = wholeCopyOf(honest)
      tamper(far, (db) =>
        db.exec(`update events set position = ${Number.MAX_SAFE_INTEGER - 100_000} where position = ${rowsOf(far).length}`),
      )
      const report = await verifyStore(far)
      expect(report.divergences).toBeGreaterThan(0)
      const product = await startProduct(far, { PENSTOCK_LOG_LEVEL: 'error' })
      expect(await product.stop()).toBe(0)
    },
  )

  test('no finding is an error of the language or of a library', async () => {
    for (const change of ["data = '['", "meta = 'null'", "meta = '{}'", "type = 'toString'", "data = 'null'"]) {
      const copy = copyOf(honest)
      tamper(copy, (db) => db.exec(`update events set ${change} where position in (5, 30)`))
      const { findings } = await verifyStore(copy)
      expect(findings.length).toBeGreaterThan(0)
      for (const { what } of findings) expect(what).not.toMatch(/Error|JSON|undefined|Cannot read|Unexpected|invalid_/)
    }
    const torn = copyOf(honest)
    const bytes = readFileSync(join(torn, 'market.db'))
    writeFileSync(join(torn, 'market.db'), bytes.fill(0x77, 16_384, bytes.length - 8192))
    const { code, err } = await penstock(['audit', 'verify', '--store', torn])
    expect(code).toBe(1)
    expect(err).toMatch(/damaged/)
    expect(err).not.toMatch(/malformed|SQLITE/)
  })

  test('an export of facts that are not what their hashes say is not written', async () => {
    const copy = copyOf(honest)
    for (const file of ['audit.heads', 'audit.key']) rmSync(join(copy, file))
    const row = rowsOf(honest).find(({ name, data }) => name === `settlement-${order}` && /\d/.test(data))
    tamper(copy, (db) =>
      db.prepare("update events set data = replace(data, '1', '2') where position = ?").run(row?.position ?? 0),
    )
    const out = join(copy, 'order.json')
    const { code, err } = await penstock(['audit', 'export', '--order', order, '--out', out, '--store', copy])
    expect(code).toBe(1)
    expect(err).toMatch(/not what its hashes say: settlement-.* the chain hash does not cover the event/)
    expect(existsSync(out)).toBe(false)
  })
})

// Only root may give files away, so that the folder of this test takes no files of its reader.
test.skipIf(process.getuid?.() !== 0)('media on which nothing can be written are verified', async () => {
  const root = join(import.meta.dirname, '../..')
  const NOBODY = 65_534
  const media = scratch()
  chmodSync(media, 0o755)
  const place = join(media, 'copy')
  mkdirSync(place)
  for (const file of ['market.db', 'audit.heads', 'audit.key', 'audit.end']) {
    writeFileSync(join(place, file), readFileSync(join(honest, file)), { mode: 0o400 })
    chownSync(join(place, file), NOBODY, NOBODY)
  }
  const verified = () => {
    chmodSync(place, 0o555)
    const run = spawnSync(
      process.execPath,
      [join(root, 'packages/cli/src/main.ts'), 'audit', 'verify', '--store', place, '--json'],
      { encoding: 'utf8', uid: NOBODY, gid: NOBODY, env: { TMPDIR: '/tmp', PATH: process.env['PATH'] } },
    )
    chmodSync(place, 0o755)
    return { code: run.status, err: run.stderr, report: JSON.parse(run.stdout || 'null') as AuditReport | null }
  }
  expect(verified()).toMatchObject({ code: 0, err: '', report: { events: rowsOf(honest).length, divergences: 0 } })
  expect(readdirSync(place)).toHaveLength(4)
})
