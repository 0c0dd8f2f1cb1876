import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { expect, it, onTestFinished } from 'vitest'
import { penstock } from '../harness/penstock.ts'
import { PATIENT, scratch, spawnProduct, startProduct } from '../harness/product.ts'
import { startDouble } from './double/process.ts'

type Loaded = { readonly counts: { readonly placed: number } }
type Verified = { readonly divergences: number }

it(
  'a market in one process keeps its facts in a server: load, audit, outage, restart and restore',
  { timeout: 300_000 },
  async () => {
    const dataDir = scratch()
    const double = await startDouble(join(scratch(), 'double.log'))
    onTestFinished(() => double.stop())
    const env = { ...PATIENT, PENSTOCK_EVENT_STORE: double.url, PENSTOCK_LOG_LEVEL: 'warn' }
    const product = await startProduct(dataDir, env)
    expect(product.output()).toMatch(/the facts are in the event store at 127\.0\.0\.1:\d+/)

    const told = { PENSTOCK_URL: product.url, PENSTOCK_DATA_DIR: dataDir }
    const loaded = await penstock<Loaded>(['load', '--orders', '8', '--rate', '2', '--drain', '60s'], told)
    expect(loaded).toMatchObject({ code: 0 })
    expect(loaded.answer.counts.placed).toBeGreaterThan(0)
    const asked = await product.operator<Verified>('POST', '/audit/verify', {})
    expect(asked).toMatchObject({ divergences: 0 })

    // An outage is some lines, however many loops meet it.
    const before = product.output().length
    await double.killFor(6000)
    await sleep(3000)
    const lines = product
      .output()
      .slice(before)
      .split('\n')
      .filter((line) => line.startsWith('{'))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(40)
    expect(await product.operator<Verified>('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
    expect(await product.stop()).toBe(0)

    // By the folder alone, beside its log heads.
    const verified = await verifyStore(dataDir)
    expect(verified).toMatchObject({ divergences: 0, ledger_balanced: true, log: { signed: true } })
    expect(existsSync(join(dataDir, 'event-store.url'))).toBe(true)

    // Without the address, or with a server that has an older log, it says what to do.
    await expect(startProduct(dataDir)).rejects.toThrow(/are in the event store at kurrentdb:.*set PENSTOCK_EVENT_STORE/)
    const empty = await startDouble()
    onTestFinished(() => empty.stop())
    await expect(startProduct(dataDir, { PENSTOCK_EVENT_STORE: empty.url })).rejects.toThrow(/If the same store has moved/)

    // A start waits for its server.
    const away = double.killFor(20_000)
    const waiting = spawnProduct(dataDir, env)
    onTestFinished(() => waiting.kill())
    await away
    const again = await waiting.ready
    expect(again.output()).toContain('a server is waited for')
    expect(await again.operator<Verified>('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
    await again.stop()
  },
)
