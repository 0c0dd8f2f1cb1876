import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyStore } from '@penstock/standalone/audit.ts'
import { expect, it, onTestFinished } from 'vitest'
import { runPenstock } from '../support/run-penstock.ts'
import { LONG_TIMEOUT_SETTINGS, makeTempFolder, spawnProduct, startProduct } from '../support/product.ts'
import { startDoubleProcess } from './double/process.ts'

type LoadReport = { readonly counts: { readonly placed: number } }
type AuditResult = { readonly divergences: number }

it(
  'a market in one process stores its facts in a KurrentDB, during load, audit, outage, restart and restore',
  { timeout: 300_000 },
  async () => {
    const dataDir = makeTempFolder()
    const double = await startDoubleProcess(join(makeTempFolder(), 'double.log'))
    onTestFinished(() => double.stop())
    const env = { ...LONG_TIMEOUT_SETTINGS, PENSTOCK_EVENT_STORE: double.url, PENSTOCK_LOG_LEVEL: 'warn' }
    const product = await startProduct(dataDir, env)
    expect(product.output()).toMatch(/the facts are in the event store at 127\.0\.0\.1:\d+/)

    const environment = { PENSTOCK_URL: product.url, PENSTOCK_DATA_DIR: dataDir }
    const loaded = await runPenstock<LoadReport>(['load', '--orders', '8', '--rate', '2', '--drain', '60s'], environment)
    expect(loaded).toMatchObject({ code: 0 })
    expect(loaded.answer.counts.placed).toBeGreaterThan(0)
    const audit = await product.operator<AuditResult>('POST', '/audit/verify', {})
    expect(audit).toMatchObject({ divergences: 0 })

    // An outage causes few log lines, although many loops fail.
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
    expect(await product.operator<AuditResult>('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
    expect(await product.stop()).toBe(0)

    // The audit needs only the data folder, which contains the URL of the event store and the log heads.
    const verified = await verifyStore(dataDir)
    expect(verified).toMatchObject({ divergences: 0, ledger_balanced: true, log: { signed: true } })
    expect(existsSync(join(dataDir, 'event-store.url'))).toBe(true)

    // A start without the URL, or with a server that has an older log, fails with advice.
    await expect(startProduct(dataDir)).rejects.toThrow(/are in the event store at kurrentdb:.*set PENSTOCK_EVENT_STORE/)
    const empty = await startDoubleProcess()
    onTestFinished(() => empty.stop())
    await expect(startProduct(dataDir, { PENSTOCK_EVENT_STORE: empty.url })).rejects.toThrow(/If the same store has moved/)

    // A start waits until its server is up.
    const away = double.killFor(20_000)
    const waiting = spawnProduct(dataDir, env)
    onTestFinished(() => waiting.kill())
    await away
    const restarted = await waiting.ready
    expect(restarted.output()).toContain('waiting for a server')
    expect(await restarted.operator<AuditResult>('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
    await restarted.stop()
  },
)
