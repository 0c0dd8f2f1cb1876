import { HOUR_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { AuditReport } from './audit.ts'
import { showGap } from './audit-gap.ts'
import { lookedUp } from './gauges.ts'
import type { Log } from './log.ts'
import { type Service, service } from './service.ts'

/** What stays of an audit when its process has ended. `gapAt`: when the log's last gap was noted, where it has one. */
export type Audited = {
  readonly at: number
  readonly divergences: number
  readonly ledgerBalanced: boolean
  readonly gapAt?: number
}

export type LastAudit = {
  /** Undefined where none was made yet. */
  read(): Promise<Audited | undefined>
  write(audited: Audited): Promise<void>
}

type Verify = (note?: string) => Promise<AuditReport>

const divergences = lookedUp('penstock_audit_divergences', 'Divergences that the last audit found.')
const balanced = lookedUp('penstock_audit_ledger_balanced', '1 if all ledger postings added up to nothing in the last audit.')
const verifiedAt = lookedUp('penstock_audit_timestamp_seconds', 'When the last audit was over, in seconds since 1970.')
const every = lookedUp('penstock_audit_every_seconds', 'Time between the audits that are made unasked; absent where none are.')

function show(audited: Audited): void {
  divergences.set(audited.divergences)
  balanced.set(audited.ledgerBalanced ? 1 : 0)
  verifiedAt.set(audited.at / 1000)
  if (audited.gapAt !== undefined) showGap(audited.gapAt)
}

/** Audits, and keeps what was found: one home of the gauges, however many doors the market has. */
export const keptAudit =
  (verify: Verify, last: LastAudit, clock: Clock): Verify =>
  async (note) => {
    const report = await verify(note)
    const gapAt = report.log?.gaps.at(-1)?.at
    const audited = {
      at: clock.now(),
      divergences: divergencesOf(report),
      ledgerBalanced: report.ledger_balanced,
      ...(gapAt !== undefined && { gapAt }),
    }
    await last.write(audited)
    show(audited)
    return report
  }

/**
 * A log whose end nothing proves is one: its heads were taken away, or the job that writes them stands still. A gap stays
 * for good and has a metric of its own.
 */
const divergencesOf = ({ divergences: found, log }: AuditReport): number =>
  Math.max(found, log?.unproven === null || log?.unproven === 'gap' ? 0 : 1)

/** A start has better things to do, and a process that starts again and again must not audit each time. */
const FIRST_AFTER_MS = 600_000

type Daily = { readonly verify: Verify; readonly last: LastAudit; readonly clock: Clock; readonly log: Log }

/** Audits although nobody asks. `everyHours`: 0 is never. `verify`: see `keptAudit`. */
export const dailyAudit = (verify: Verify, last: LastAudit, everyHours: number): Service =>
  service('audit-daily', {
    jobs: [
      { name: 'daily audit', run: ({ ports }, signal) => auditDaily({ ...ports, verify, last }, everyHours * HOUR_MS, signal) },
    ],
  })

export async function auditDaily({ verify, last, clock, log }: Daily, everyMs: number, signal: AbortSignal): Promise<void> {
  const earliest = clock.now() + FIRST_AFTER_MS
  if (everyMs > 0) every.set(everyMs / 1000)
  while (!signal.aborted) {
    const before = await last.read()
    if (before) show(before)
    const due = everyMs === 0 ? Infinity : Math.max(earliest, before ? before.at + everyMs : earliest)
    if (due > clock.now()) {
      await clock.sleep(Math.min(due - clock.now(), HOUR_MS), signal)
      continue
    }
    const report = await verify()
    const { ledger_balanced: isBalanced, first, events } = report
    const found = divergencesOf(report)
    const heads = (report.log ? report.log.unproven : 'no heads') ?? undefined
    if (found > 0 || !isBalanced)
      log.error({ divergences: found, ledger_balanced: isBalanced, first, heads }, 'the audit found faults')
    else log.info({ events }, 'the audit found no fault')
  }
}
