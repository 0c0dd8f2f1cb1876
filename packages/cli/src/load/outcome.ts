import type { JsonObject } from '../json.ts'
import { duration, fields, section, table } from '../text.ts'
import type { Outcome } from './run.ts'
import type { Latency } from './meter.ts'
import { notesOf } from './notes.ts'
import { sharesText } from './shares.ts'

/** What makes the run a failure, a sentence each. */
export function failuresOf({ checks, counts, settings, errors }: Outcome): readonly string[] {
  const failed = checks
    .filter(({ outcome }) => outcome === 'fail')
    .map(({ name, detail }) => `"${name}" fails: ${sentence(detail)}`)
  const [first] = errors
  const many =
    counts.errors > settings.allowErrors
      ? [
          `${counts.errors} errors, and ${settings.allowErrors} are allowed${first ? `; most often ${first.where}: ${sentence(first.first)}` : '.'}`,
        ]
      : []
  return [...failed, ...many]
}

/** What a market says is a sentence already. */
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

const round = (ms: number): number => Math.round(ms * 1000) / 1000
const figure = (ms: number | null): number | null => (ms === null ? null : round(ms))

/** Orders that were placed each second, while they were due. */
export const achievedPerSecond = ({ counts, arrivalsMs, tookMs, settings }: Outcome): number => {
  const overMs = Math.max(Math.min(arrivalsMs, tookMs), 1000 / settings.ratePerSecond)
  return round((counts.placed * 1000) / overMs)
}

export function settingsJson({ settings }: Pick<Outcome, 'settings'>): JsonObject {
  const { sellers, mix, to, ...plain } = settings
  return { ...plain, mix: sharesText(mix), sellers: sellers && sharesText(sellers), to }
}

/** For programs: all but the seconds, which the report draws. */
export function outcomeJson(outcome: Outcome): JsonObject {
  const { url, startedAt, endedBy, tookMs, counts, statuses, errors, latencies, checks } = outcome
  return {
    url,
    started_at: startedAt,
    ended_by: endedBy,
    took_ms: Math.round(tookMs),
    settings: settingsJson(outcome),
    asked_per_second: outcome.settings.ratePerSecond,
    achieved_per_second: achievedPerSecond(outcome),
    counts,
    statuses: Object.fromEntries(statuses),
    errors: errors.map(({ where, code, count, first }) => ({ where, code, count, first })),
    latencies: latencies.map(latencyJson),
    notes: notesOf(outcome),
    checks: checks.map(({ name, outcome: verdict, detail }) => ({ name, outcome: verdict, detail })),
    failures: failuresOf(outcome),
  }
}

const latencyJson = ({ step, count, timedOut, unsent, missing, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Latency) => ({
  step,
  count,
  timed_out: timedOut,
  unsent,
  missing,
  p50_ms: figure(p50Ms),
  p90_ms: figure(p90Ms),
  p99_ms: figure(p99Ms),
  p99_9_ms: figure(p999Ms),
  max_ms: figure(maxMs),
})

/** For a terminal: columns that have nothing to say would only break its lines. */
function latencyTable(latencies: readonly Latency[]): string {
  const rows = latencies.map(latencyJson)
  const idle = (['timed_out', 'unsent', 'missing'] as const).filter((name) => rows.every((row) => row[name] === 0))
  return table(rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !idle.some((one) => one === name)))))
}

/** For people. */
export function outcomeText(outcome: Outcome): string {
  const { url, endedBy, tookMs, counts, statuses, errors, latencies, checks, settings } = outcome
  const facts = fields({
    market: url,
    ended: endedBy === 'itself' ? `by itself after ${duration(tookMs)}` : `by the ${endedBy} after ${duration(tookMs)}`,
    seed: `${settings.seed}`,
    asked: `${settings.ratePerSecond}/s`,
    achieved: `${achievedPerSecond(outcome).toFixed(2)}/s`,
    ...counts,
  })
  return [
    section('Load', facts),
    section('Latency in ms, since each order was due', latencyTable(latencies)),
    ...notesOf(outcome).map((note) => `${note}\n`),
    section('Orders', table(statuses.map(([status, count]) => ({ status, count })))),
    section('Errors', table(errors.map(({ where, code, count, first }) => ({ count, where, code, first })))),
    section('Checks', table(checks.map(({ name, outcome: verdict, detail }) => ({ verdict, check: name, detail })))),
  ].join('\n')
}
