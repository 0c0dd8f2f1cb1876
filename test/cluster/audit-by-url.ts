import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport } from '@penstock/audit/verify.ts'
import type { ExportCheckReport } from '@penstock/audit/check-export.ts'
import type { OrderReplay } from '@penstock/audit/replay.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect } from 'vitest'
import { runPenstock } from '../support/run-penstock.ts'

type AuditOptions = {
  /** The URL of an event store, as an argument of `--store`. */
  readonly store: string
  /** The folder in which the cluster's audit process stores log heads and their key. */
  readonly heads: string
  /** The id of a fulfilled order. */
  readonly order: string
  /** A folder for the files that the audit writes. */
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
}

/** Audits a server's event store with the command line alone, as docs/guides/audit.md describes. @returns the audit's note */
export async function auditByUrl({ store, heads, order, folder, env }: AuditOptions): Promise<string> {
  const storeArgs = ['--store', store]
  const headsArgs = ['--heads', heads, '--key', join(heads, 'audit.key')]
  const { answer: report, ...verified } = await runPenstock<AuditReport>(['audit', 'verify', ...storeArgs, ...headsArgs], env)
  expect({ ...verified, report }).toMatchObject({
    code: 0,
    stderr: '',
    report: { divergences: 0, ledger_balanced: true, first: null, log: { signed: true } },
  })
  expect(report.log?.heads).toBeGreaterThan(0)

  const { answer: replay } = await runPenstock<OrderReplay>(['audit', 'replay', '--order', order, ...storeArgs], env)
  const facts = replay.facts.map(({ stream, fact }) => `${stream.split('-')[0]} ${fact}`)
  expect(replay.divergences).toEqual([])
  expect(facts).toEqual(
    expect.arrayContaining(['quote Quoted', 'settlement HoldSettled', 'order OrderValid', 'channel WatchStarted']),
  )

  const file = join(folder, `${order}.json`)
  const exportArgs = ['audit', 'export', '--order', order, '--out', file, ...storeArgs, ...headsArgs]
  // Log heads are some seconds behind the newest facts of a running order.
  await waitUntil(
    'the log heads cover every fact of the order',
    async () => {
      const exported = await runPenstock<{ readonly events: number }>(exportArgs, env)
      expect(exported).toMatchObject({ code: 0, stderr: '', answer: { order, file } })
      const { answer, code } = await runPenstock<ExportCheckReport>(['audit', 'check', file, ...headsArgs])
      expect(answer).toMatchObject({
        divergences: [],
        ledger_balanced: true,
        events: exported.answer.events,
        log: { signed: true },
      })
      return code === 0
    },
    60_000,
    1000,
  )
  expect(readFileSync(file, 'utf8')).toContain(order)

  const missing = await runPenstock(['audit', 'replay', '--order', crypto.randomUUID(), ...storeArgs], env)
  expect(missing).toMatchObject({ code: 1, answer: undefined })
  expect(missing.stderr).toMatch(/has no order/)
  return report.log?.note ?? ''
}
