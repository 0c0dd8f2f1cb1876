import { HOUR_MS } from '@penstock/kernel/time.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { AuditReport } from './verify.ts'
import { showGap } from './gaps.ts'
import { createSampledGauge } from '@penstock/runtime/observability/gauges.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { type Service, defineService } from '@penstock/runtime/service.ts'

/** The stored result of an audit, which survives a restart. `gapAt`: when the log's last gap was recorded, if any. */
export type AuditSummary = {
  readonly at: number
  readonly divergences: number
  readonly ledgerBalanced: boolean
  readonly gapAt?: number
}

export type AuditSummaryStore = {
  /** Undefined before the first audit. */
  read(): Promise<AuditSummary | undefined>
  write(summary: AuditSummary): Promise<void>
}

type RunAudit = (note?: string) => Promise<AuditReport>

const divergencesGauge = createSampledGauge('penstock_audit_divergences', 'Divergences that the last audit found.')
const ledgerBalancedGauge = createSampledGauge(
  'penstock_audit_ledger_balanced',
  '1 if all ledger postings added up to zero in the last audit, else 0.',
)
const verifiedAtGauge = createSampledGauge(
  'penstock_audit_timestamp_seconds',
  'Time at which the last audit ended, in seconds since 1970.',
)
const auditInterval = createSampledGauge(
  'penstock_audit_every_seconds',
  'Interval of the regular audits in seconds; absent if they are disabled.',
)

function showSummary(summary: AuditSummary): void {
  divergencesGauge.set(summary.divergences)
  ledgerBalancedGauge.set(summary.ledgerBalanced ? 1 : 0)
  verifiedAtGauge.set(summary.at / 1000)
  if (summary.gapAt !== undefined) showGap(summary.gapAt)
}

/** Wraps an audit so that it stores its summary and sets the gauges. Every audit runs through this function. */
export const withStoredSummary =
  (verify: RunAudit, last: AuditSummaryStore, clock: Clock): RunAudit =>
  async (note) => {
    const report = await verify(note)
    const gapAt = report.log?.gaps.at(-1)?.at
    const summary = {
      at: clock.now(),
      divergences: countDivergences(report),
      ledgerBalanced: report.ledger_balanced,
      ...(gapAt !== undefined && { gapAt }),
    }
    await last.write(summary)
    showSummary(summary)
    return report
  }

/**
 * An unproven end of the log counts as one divergence, because heads were removed or the head writer has stopped. A gap does
 * not count, because it is permanent and has its own metric.
 */
const countDivergences = ({ divergences: found, log }: AuditReport): number =>
  Math.max(found, log?.unproven === null || log?.unproven === 'gap' ? 0 : 1)

/** The first audit is delayed: it must not slow the start, or run at every restart of a process that keeps crashing. */
const FIRST_AFTER_MS = 600_000

type DailyAuditContext = {
  readonly verify: RunAudit
  readonly last: AuditSummaryStore
  readonly clock: Clock
  readonly log: Logger
}

/** A service that audits every `everyHours` hours; 0 disables the audits. `verify` comes from `withStoredSummary`. */
export const createAuditService = (verify: RunAudit, last: AuditSummaryStore, everyHours: number): Service =>
  defineService('audit-daily', {
    jobs: [
      {
        name: 'daily audit',
        run: ({ ports }, signal) => runDailyAudits({ ...ports, verify, last }, everyHours * HOUR_MS, signal),
      },
    ],
  })

export async function runDailyAudits(
  { verify, last, clock, log }: DailyAuditContext,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  const earliest = clock.now() + FIRST_AFTER_MS
  if (everyMs > 0) auditInterval.set(everyMs / 1000)
  while (!signal.aborted) {
    const before = await last.read()
    if (before) showSummary(before)
    const due = everyMs === 0 ? Infinity : Math.max(earliest, before ? before.at + everyMs : earliest)
    if (due > clock.now()) {
      await clock.sleep(Math.min(due - clock.now(), HOUR_MS), signal)
      continue
    }
    const report = await verify()
    const { ledger_balanced: isBalanced, first, events } = report
    const found = countDivergences(report)
    const heads = (report.log ? report.log.unproven : 'no heads') ?? undefined
    if (found > 0 || !isBalanced)
      log.error({ divergences: found, ledger_balanced: isBalanced, first, heads }, 'the audit found faults')
    else log.info({ events }, 'the audit found no fault')
  }
}
