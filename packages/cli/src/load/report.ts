import { duration } from '../text.ts'
import { escaped, page, tableOf } from './html.ts'
import { achievedPerSecond, failuresOf, settingsJson } from './outcome.ts'
import { notesOf } from './notes.ts'
import { barChart } from './plot.ts'
import { isEnded, isSold } from './order.ts'
import { flightChart, latencyCharts, percentileCharts, rateChart, requestChart, statusChart } from './report-charts.ts'
import type { Outcome } from './run.ts'

/** The report: one page without scripts, that can be kept, sent and read anywhere. */
export function reportPage(outcome: Outcome): string {
  const { statuses, errors } = outcome
  const body = [
    head(outcome),
    tiles(outcome),
    checksTable(outcome),
    latencyTable(outcome),
    section('Latency by percentile', `<div class="grid2">${percentileCharts(outcome).join('\n')}</div>`),
    section('Latency over time', `<div class="grid2">${latencyCharts(outcome).join('\n')}</div>`),
    section(
      'Throughput',
      `<div class="grid2">${[rateChart(outcome), requestChart(outcome), flightChart(outcome)].join('\n')}</div>`,
    ),
    section(
      'Orders and errors',
      `<div class="grid2">${[
        statusChart(outcome),
        barChart(
          'How the orders stood in the end',
          statuses.map(([name, value]) => ({ name, value, isBad: isBad(name) })),
        ),
        barChart(
          'Errors',
          errors.map(({ where, code, count }) => ({ name: `${where}: ${code}`, value: count, isBad: true })),
        ),
      ].join('\n')}</div>`,
    ),
    errorTable(outcome),
    settingsTable(outcome),
  ]
  return page(`Penstock load: ${outcome.counts.placed} orders`, body.join('\n'))
}

/** What has not ended is neither. */
const isBad = (status: string): boolean => isEnded(status) && !isSold(status)

const section = (title: string, content: string): string => `<section><h2>${escaped(title)}</h2>\n${content}</section>`

function head(outcome: Outcome): string {
  const { url, startedAt, endedBy, tookMs } = outcome
  const failures = failuresOf(outcome)
  const verdict =
    failures.length === 0
      ? '<p class="verdict good">Everything that was checked holds.</p>'
      : failures.map((text) => `<p class="verdict bad">${escaped(text)}</p>`).join('')
  const ended = endedBy === 'itself' ? 'ended by itself' : `was ended by the ${endedBy}`
  return `<h1>Load on ${escaped(url)}</h1>
<p class="dim">Begun at ${escaped(startedAt)}; it ${ended} after ${duration(tookMs)}.</p>${verdict}`
}

function tiles(outcome: Outcome): string {
  const { counts, settings } = outcome
  const all: readonly (readonly [string, string | number])[] = [
    ['orders due', counts.arrived],
    ['placed', counts.placed],
    ['asked, per second', settings.ratePerSecond],
    ['achieved, per second', achievedPerSecond(outcome).toFixed(2)],
    ['requests', counts.requests],
    ['errors', counts.errors],
    ['shed', counts.shed],
    ['held back by limits', counts.held],
    ['beats held back', counts.unasked],
  ]
  return `<div class="tiles">${all.map(([name, value]) => `<div><b>${value}</b>${escaped(name)}</div>`).join('')}</div>`
}

const checksTable = ({ checks }: Outcome): string =>
  section(
    'Checks',
    tableOf(
      ['', 'what has to hold', 'found'],
      checks.map((check) => [check.outcome, check.name, check.detail]),
    ).replaceAll(/<td>(pass|fail|skipped)<\/td>/g, (_, word: string) => `<td class="${VERDICTS[word]}">${word}</td>`),
  )

const VERDICTS: Readonly<Record<string, string>> = { pass: 'good', fail: 'bad', skipped: 'dim' }

const plain = (count: number): string => count.toLocaleString('en')

/** To three figures: the rest is noise. */
const ms = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))

const latencyTable = (outcome: Outcome): string =>
  section(
    'Latency in ms',
    tableOf(
      ['step', 'count', 'timed out', 'unsent', 'missing', 'p50', 'p90', 'p99', 'p99.9', 'max'],
      outcome.latencies.map(({ step, count, timedOut, unsent, missing, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }) => [
        step,
        ...[count, timedOut, unsent, missing].map(plain),
        ...[p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map((value) => (value === null ? '-' : ms(value))),
      ]),
      1,
    ) +
      notesOf(outcome)
        .map((note) => `<p class="bad">${escaped(note)}</p>`)
        .join('') +
      `<p class="dim">Invoice, payment held, opening and settled are counted from the moment at which the order was due, so that
an order which waited for its turn shows that it waited; get_order from the beat on which the buyer asks, with the beats that a slow answer
held back. Start lag is how late this program itself began, and socket wait how long a request waited for a connection of this
program's; both are in the other figures, too. What is seen by asking is seen up to one beat later. Of count, timed out and unsent ended
without an answer and stand there with the time that they waited; missing is what was expected beside count, and did not come.</p>`,
  )

function errorTable({ errors }: Outcome): string {
  if (errors.length === 0) return ''
  const rows = errors.map(({ where, code, count, first }) => [where, code, first, `${count}`])
  return section('Errors, with the first of each', tableOf(['where', 'code', 'the first said', 'count'], rows, 3))
}

function settingsTable(outcome: Outcome): string {
  const rows = Object.entries(settingsJson(outcome)).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : value === null ? '-' : JSON.stringify(value),
  ])
  return section('Settings', tableOf(['setting', 'value'], rows))
}
