import type { Json } from '../../json.ts'
import { formatFields, formatSection, formatTable } from '../../text-format.ts'
import { settingsToJson } from '../report/outcome-format.ts'
import type { LoadSettings } from '../settings.ts'
import type { CurveLoad } from './curve-load.ts'
import { type Curve, LOAD_FACTORS, nameFactor } from './measure-curve.ts'
import { NORMAL_ROW } from './recovery.ts'

export type CurveReport = Curve & { readonly url: string; readonly startedAt: string; readonly settings: LoadSettings }

/** The reasons for which the curve fails, one sentence per reason. The lost orders are first. */
export function listCurveFailures({ search, points }: Pick<Curve, 'search' | 'points'>): readonly string[] {
  const loads: readonly (readonly [name: string, load: CurveLoad])[] = [
    ...search.loads.map((load) => [`${load.perSecond} orders per second`, load] as const),
    ...points.map((point) => [nameFactor(point.factor), point] as const),
  ]
  const isInterrupted = loads.some(([, { endedBy }]) => endedBy === 'interrupt')
  return [
    ...loads.flatMap(([name, { lost }]) => (lost > 0 ? [`At ${name}, ${describeLost(lost)}.`] : [])),
    ...loads.flatMap(([name, { failures }]) => failures.map((failure) => `At ${name}: ${failure}`)),
    ...(isInterrupted ? ['Ctrl-C ended the curve before its end.'] : []),
  ]
}

const describeLost = (lost: number): string =>
  lost === 1 ? '1 paid order was lost: it ended without a channel' : `${lost} paid orders were lost: they ended without a channel`

/** A market below its capacity refuses no larger share of the orders. Otherwise the search found too high a capacity. */
const MAX_NORMAL_REFUSALS = 0.1

/** Sentences about the capacity and the recovery. */
export function listCurveNotes({ search, points, recovery }: Curve): readonly string[] {
  const lastRate = search.loads.at(-1)?.perSecond
  const growth =
    search.isGrowing && lastRate !== undefined
      ? [`The goodput still grew at ${lastRate} orders per second, where the search ended. The capacity may be higher.`]
      : []
  const [normal] = points
  const refusals =
    normal && normal.refused > normal.due * MAX_NORMAL_REFUSALS
      ? [
          `${nameFactor(normal.factor)} is too much: the market refused ${normal.refused} of ${normal.due} orders. Use a longer --duration.`,
        ]
      : []
  const notes = [...growth, ...refusals]
  if (!recovery) return points.length < LOAD_FACTORS.length ? notes : [...notes, NO_RECOVERY]
  const { recoveredMs, purchases, limitMs, normalP50Ms } = recovery
  const belowLimit = `below ${formatMs(limitMs)}, twice the p50 of ${formatMs(normalP50Ms)} at ${nameFactor(LOAD_FACTORS[0])}`
  const waitedSeconds = (purchases.at(-1)?.atMs ?? 0) / 1000
  return [
    ...notes,
    recoveredMs === null
      ? `No ${NORMAL_ROW} purchases in a row were ${belowLimit}, in ${waitedSeconds} s after the overload.`
      : `From ${recoveredMs / 1000} s after the overload, ${NORMAL_ROW} purchases in a row were ${belowLimit}.`,
  ]
}

const NO_RECOVERY = `No purchase had an invoice at ${nameFactor(LOAD_FACTORS[0])}, so that the recovery is unknown.`

/** Rounds to three significant digits, because the rest is noise. */
const roundMs = (ms: number): number => (ms >= 100 ? Math.round(ms) : Number(ms.toPrecision(3)))
const formatMs = (ms: number): string => `${roundMs(ms).toLocaleString('en')} ms`
const roundMsOrNull = (ms: number | null): number | null => (ms === null ? null : roundMs(ms))

/** One load as a row of a table, and as JSON. */
export type CurveRow = Readonly<Record<string, number | null>>

const loadToRow = ({ perSecond, due, refused, sold, goodput, lost, buyP50Ms, buyP99Ms }: CurveLoad): CurveRow => ({
  orders_per_second: perSecond,
  due,
  refused,
  sold,
  sold_per_second: Math.round(goodput * 100) / 100,
  paid_lost: lost,
  buy_p50_ms: roundMsOrNull(buyP50Ms),
  buy_p99_ms: roundMsOrNull(buyP99Ms),
})

export const listSearchRows = ({ search }: Curve): readonly CurveRow[] => search.loads.map(loadToRow)
export const listPointRows = ({ points }: Curve): readonly CurveRow[] =>
  points.map(({ factor, ...load }) => ({ times: factor, ...loadToRow(load) }))

export function curveToJson(report: CurveReport): Json {
  const { url, startedAt, search, recovery } = report
  return {
    url,
    started_at: startedAt,
    settings: settingsToJson(report),
    capacity_per_second: search.capacityPerSecond,
    search: listSearchRows(report),
    loads: listPointRows(report),
    recovery: recovery && {
      normal_p50_ms: recovery.normalP50Ms,
      limit_ms: recovery.limitMs,
      recovered_seconds: recovery.recoveredMs === null ? null : recovery.recoveredMs / 1000,
      purchases: recovery.purchases.map(({ atMs, ms }) => ({ at_ms: atMs, invoice_ms: ms ?? null })),
    },
    notes: listCurveNotes(report),
    failures: listCurveFailures(report),
  }
}

/** Formats the curve as text for a terminal. */
export function formatCurve(report: CurveReport): string {
  const { url, settings, search } = report
  const facts = { market: url, seed: `${settings.seed}`, capacity: `${search.capacityPerSecond.toFixed(2)} sold per second` }
  return [
    formatSection('Curve', formatFields(facts)),
    formatSection('Search of the capacity', formatTable(listSearchRows(report))),
    formatSection('Loads at multiples of the capacity', formatTable(listPointRows(report))),
    ...listCurveNotes(report),
  ].join('\n')
}
