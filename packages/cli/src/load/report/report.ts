import { formatDuration } from '../../text-format.ts'
import { escapeHtml, renderHtmlPage, renderHtmlTable } from './html.ts'
import { computeAchievedRate, computeGoodput, listFailures, settingsToJson } from './outcome-format.ts'
import { listReportNotes } from './report-notes.ts'
import { renderBarChart } from './svg-charts.ts'
import { isStatusEnded, isStatusSold } from '../orders/load-order.ts'
import {
  renderInFlightChart,
  renderLatencyCharts,
  renderPercentileCharts,
  renderRateChart,
  renderRequestChart,
  renderStatusChart,
} from './report-charts.ts'
import type { LoadOutcome } from '../run-load.ts'

/** Renders the report as one page without scripts and other resources, so that it can be stored and sent. */
export function renderReport(outcome: LoadOutcome): string {
  const { statuses, errors } = outcome
  const body = [
    renderHeader(outcome),
    renderTiles(outcome),
    renderChecks(outcome),
    renderLatencies(outcome),
    renderSection('Latency by percentile', `<div class="grid2">${renderPercentileCharts(outcome).join('\n')}</div>`),
    renderSection('Latency over time', `<div class="grid2">${renderLatencyCharts(outcome).join('\n')}</div>`),
    renderSection(
      'Throughput',
      `<div class="grid2">${[renderRateChart(outcome), renderRequestChart(outcome), renderInFlightChart(outcome)].join('\n')}</div>`,
    ),
    renderSection(
      'Orders and errors',
      `<div class="grid2">${[
        renderStatusChart(outcome),
        renderBarChart(
          'Orders by final status',
          statuses.map(([name, value]) => ({ name, value, isBad: isBad(name) })),
        ),
        renderBarChart(
          'Errors',
          errors.map(({ where, code, count }) => ({ name: `${where}: ${code}`, value: count, isBad: true })),
        ),
      ].join('\n')}</div>`,
    ),
    renderErrors(outcome),
    renderSettings(outcome),
  ]
  return renderHtmlPage(`Penstock load: ${outcome.counts.placed} orders`, body.join('\n'))
}

/** Whether an order has ended without a sale. An unfinished order is not bad. */
const isBad = (status: string): boolean => isStatusEnded(status) && !isStatusSold(status)

const renderSection = (title: string, content: string): string => `<section><h2>${escapeHtml(title)}</h2>\n${content}</section>`

function renderHeader(outcome: LoadOutcome): string {
  const { url, startedAt, endedBy, tookMs } = outcome
  const failures = listFailures(outcome)
  const verdict =
    failures.length === 0
      ? '<p class="verdict good">No check failed.</p>'
      : failures.map((text) => `<p class="verdict bad">${escapeHtml(text)}</p>`).join('')
  const ended = endedBy === 'itself' ? 'ended by itself' : `was ended by the ${endedBy}`
  return `<h1>Load on ${escapeHtml(url)}</h1>
<p class="dim">Started at ${escapeHtml(startedAt)}; it ${ended} after ${formatDuration(tookMs)}.</p>${verdict}`
}

function renderTiles(outcome: LoadOutcome): string {
  const { counts, settings, buyerResults } = outcome
  const entries: readonly (readonly [string, string | number])[] = [
    ['orders due', counts.arrived],
    ['placed', counts.placed],
    ['target, per second', settings.ratePerSecond],
    ['achieved, per second', computeAchievedRate(outcome).toFixed(2)],
    ['refused, market busy', counts.refused],
    ['sold', buyerResults.sold],
    ['sold, per second', computeGoodput(outcome).toFixed(2)],
    ['paid, no channel', buyerResults.paidUnserved],
    ['requests', counts.requests],
    ['errors', counts.errors],
    ['shed', counts.shed],
    ['held back by limits', counts.held],
    ['polls held back', counts.unasked],
  ]
  return `<div class="tiles">${entries.map(([name, value]) => `<div><b>${value}</b>${escapeHtml(name)}</div>`).join('')}</div>`
}

const renderChecks = ({ checks }: LoadOutcome): string =>
  renderSection(
    'Checks',
    renderHtmlTable(
      ['', 'check', 'result'],
      checks.map((check) => [check.outcome, check.name, check.detail]),
    ).replaceAll(/<td>(pass|fail|skipped)<\/td>/g, (_, word: string) => `<td class="${VERDICT_CLASSES[word]}">${word}</td>`),
  )

const VERDICT_CLASSES: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad', skipped: 'dim' }

const formatCount = (count: number): string => count.toLocaleString('en')

/** Rounds to three significant digits, because the rest is noise. */
const formatMs = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))

const renderLatencies = (outcome: LoadOutcome): string =>
  renderSection(
    'Latency in ms',
    renderHtmlTable(
      ['step', 'count', 'timed out', 'unsent', 'missing', 'p50', 'p90', 'p99', 'p99.9', 'max'],
      outcome.latencies.map(({ step, count, timedOut, unsent, missing, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }) => [
        step,
        ...[count, timedOut, unsent, missing].map(formatCount),
        ...[p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map((value) => (value === null ? '-' : formatMs(value))),
      ]),
      1,
    ) +
      listReportNotes(outcome)
        .map((note) => `<p class="bad">${escapeHtml(note)}</p>`)
        .join('') +
      `<p class="dim">The latencies of invoice, payment held, opening and settled start when the order was due, so that they
include every wait of the order. The latency of get_order starts when the poll was due, and includes the polls that a slow answer
delayed. Start lag is the delay by this program itself. Socket wait is the wait of a request for a connection of this program.
The other latencies include both. A poll observes a change up to one poll interval late. Count includes the requests that timed
out or were never sent (unsent), with the time that they waited. Missing counts the values that were expected in addition to
count.</p>`,
  )

function renderErrors({ errors }: LoadOutcome): string {
  if (errors.length === 0) return ''
  const rows = errors.map(({ where, code, count, first }) => [where, code, first, `${count}`])
  return renderSection('Errors and their first messages', renderHtmlTable(['where', 'code', 'first message', 'count'], rows, 3))
}

function renderSettings(outcome: LoadOutcome): string {
  const rows = Object.entries(settingsToJson(outcome)).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value),
  ])
  return renderSection('Settings', renderHtmlTable(['setting', 'value'], rows))
}
