import type { JsonObject } from '../../json.ts'
import { formatDuration, formatFields, formatSection, formatTable } from '../../text-format.ts'
import type { LoadOutcome } from '../run-load.ts'
import type { StepLatency } from '../measurements/latency-meter.ts'
import { listReportNotes } from './report-notes.ts'
import { formatMix } from '../orders/mix.ts'

/** The reasons for which the run fails, one sentence per reason. */
export function listFailures({
  checks,
  counts,
  settings,
  errors,
}: Pick<LoadOutcome, 'checks' | 'counts' | 'settings' | 'errors'>): readonly string[] {
  const failed = checks
    .filter(({ outcome }) => outcome === 'fail')
    .map(({ name, detail }) => `"${name}" fails: ${toSentence(detail)}`)
  const [first] = errors
  const errorTexts =
    counts.errors > settings.allowErrors
      ? [
          `${counts.errors} errors, and ${settings.allowErrors} are allowed${first ? `; most often ${first.where}: ${toSentence(first.first)}` : '.'}`,
        ]
      : []
  return [...failed, ...errorTexts]
}

/** Adds a full stop, unless the text (such as a message of the market) already ends with a punctuation mark. */
const toSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const roundMs = (ms: number): number => Math.round(ms * 1000) / 1000
const roundMsOrNull = (ms: number | null): number | null => (ms === null ? null : roundMs(ms))

/** Placed orders per second, over the time in which orders were due. */
export const computeAchievedRate = (outcome: LoadOutcome): number => computeRate(outcome, outcome.counts.placed)

/** Sold channels per second, over the time in which orders were due. */
export const computeGoodput = (outcome: LoadOutcome): number => computeRate(outcome, outcome.buyerResults.sold)

const computeRate = ({ arrivalsMs, tookMs, settings }: LoadOutcome, count: number): number =>
  roundMs((count * 1000) / Math.max(Math.min(arrivalsMs, tookMs), 1000 / settings.ratePerSecond))

export function settingsToJson({ settings }: Pick<LoadOutcome, 'settings'>): JsonObject {
  const { sellers, mix, to, ...plain } = settings
  return { ...plain, mix: formatMix(mix), sellers: sellers && formatMix(sellers), to }
}

/** The outcome as JSON for programs, without the samples of each second, which only the report draws. */
export function outcomeToJson(outcome: LoadOutcome): JsonObject {
  const { url, startedAt, endedBy, tookMs, counts, statuses, errors, latencies, checks } = outcome
  return {
    url,
    started_at: startedAt,
    ended_by: endedBy,
    took_ms: Math.round(tookMs),
    settings: settingsToJson(outcome),
    asked_per_second: outcome.settings.ratePerSecond,
    achieved_per_second: computeAchievedRate(outcome),
    goodput_per_second: computeGoodput(outcome),
    sold: outcome.buyerResults.sold,
    paid_unserved: outcome.buyerResults.paidUnserved,
    counts,
    statuses: Object.fromEntries(statuses),
    errors: errors.map(({ where, code, count, first }) => ({ where, code, count, first })),
    latencies: latencies.map(latencyToJson),
    notes: listReportNotes(outcome),
    checks: checks.map(({ name, outcome: verdict, detail }) => ({ name, outcome: verdict, detail })),
    failures: listFailures(outcome),
  }
}

const latencyToJson = ({ step, count, timedOut, unsent, missing, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: StepLatency) => ({
  step,
  count,
  timed_out: timedOut,
  unsent,
  missing,
  p50_ms: roundMsOrNull(p50Ms),
  p90_ms: roundMsOrNull(p90Ms),
  p99_ms: roundMsOrNull(p99Ms),
  p99_9_ms: roundMsOrNull(p999Ms),
  max_ms: roundMsOrNull(maxMs),
})

/** Formats the latencies for a terminal. Columns of zeros are omitted, because long lines would wrap. */
function formatLatencies(latencies: readonly StepLatency[]): string {
  const rows = latencies.map(latencyToJson)
  const emptyColumns = (['timed_out', 'unsent', 'missing'] as const).filter((name) => rows.every((row) => row[name] === 0))
  return formatTable(
    rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !emptyColumns.some((one) => one === name)))),
  )
}

/** Formats the outcome as text for a terminal. */
export function formatOutcome(outcome: LoadOutcome): string {
  const { url, endedBy, tookMs, counts, statuses, errors, latencies, checks, settings, buyerResults } = outcome
  const facts = formatFields({
    market: url,
    ended:
      endedBy === 'itself' ? `by itself after ${formatDuration(tookMs)}` : `by the ${endedBy} after ${formatDuration(tookMs)}`,
    seed: `${settings.seed}`,
    target: `${settings.ratePerSecond}/s`,
    achieved: `${computeAchievedRate(outcome).toFixed(2)}/s`,
    goodput: `${computeGoodput(outcome).toFixed(2)}/s`,
    ...counts,
    sold: buyerResults.sold,
    'paid, no channel': buyerResults.paidUnserved,
  })
  return [
    formatSection('Load', facts),
    formatSection('Latency in ms, since each order was due', formatLatencies(latencies)),
    ...listReportNotes(outcome).map((note) => `${note}\n`),
    formatSection('Orders', formatTable(statuses.map(([status, count]) => ({ status, count })))),
    formatSection('Errors', formatTable(errors.map(({ where, code, count, first }) => ({ count, where, code, first })))),
    formatSection('Checks', formatTable(checks.map(({ name, outcome: verdict, detail }) => ({ verdict, check: name, detail })))),
  ].join('\n')
}
