import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { checkExport } from '@penstock/runtime/audit-check.ts'
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
