import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import type { CheckReport } from '@penstock/runtime/audit-check.ts'
import type { Replay } from '@penstock/runtime/audit-replay.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect } from 'vitest'
import { penstock } from '../harness/penstock.ts'

type Audited = {
  /** The url of an event store, as `--store` takes it. */
  readonly store: string
  /** Where the cluster's audit process keeps log heads and their key. */
  readonly heads: string
  /** An order that was served. */
  readonly order: string
  /** A folder for what is written. */
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
}

/** Reads a store on a server by the command line alone, as the guide for auditors says, and finds it whole. @returns its note */
export async function auditedByUrl({ store, heads, order, folder, env }: Audited): Promise<string> {
  const from = ['--store', store]
  const kept = ['--heads', heads, '--key', join(heads, 'audit.key')]
  const { answer: report, ...verified } = await penstock<AuditReport>(['audit', 'verify', ...from, ...kept], env)
  expect({ ...verified, report }).toMatchObject({
    code: 0,
    err: '',
    report: { divergences: 0, ledger_balanced: true, first: null, log: { signed: true } },
  })
  expect(report.log?.heads).toBeGreaterThan(0)

  const { answer: replay } = await penstock<Replay>(['audit', 'replay', '--order', order, ...from], env)
  const facts = replay.facts.map(({ stream, fact }) => `${stream.split('-')[0]} ${fact}`)
  expect(replay.divergences).toEqual([])
  expect(facts).toEqual(
    expect.arrayContaining(['quote Quoted', 'settlement HoldSettled', 'order OrderValid', 'channel WatchStarted']),
  )

  const file = join(folder, `${order}.json`)
  const exporting = ['audit', 'export', '--order', order, '--out', file, ...from, ...kept]
  // Heads are some seconds behind an order that goes on.
  await until(
    'the heads have all of the order',
    async () => {
      const exported = await penstock<{ readonly events: number }>(exporting, env)
      expect(exported).toMatchObject({ code: 0, err: '', answer: { order, file } })
      const { answer, code } = await penstock<CheckReport>(['audit', 'check', file, ...kept])
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

  const missing = await penstock(['audit', 'replay', '--order', crypto.randomUUID(), ...from], env)
  expect(missing).toMatchObject({ code: 1, answer: undefined })
  expect(missing.err).toMatch(/has no order/)
  return report.log?.note ?? ''
}
