import { readFileSync } from 'node:fs'
import { computeQuantile, type BenchmarkRow, judgeRow } from './harness.ts'
import { renderMachineTable } from './machine.ts'
import { formatAmount } from './table.ts'

export type MeasuredBenchmark = { readonly name: string; readonly rows: readonly BenchmarkRow[] }

/** Notes for each benchmark: its subject, and the reasons why it misses targets. */
const NOTES = new URL('../notes.md', import.meta.url)

/** Renders docs/benchmarks.md from this run's figures and the notes. */
export function renderBenchmarksPage(measured: readonly MeasuredBenchmark[], now = new Date()): string {
  const notes = splitNotes(readFileSync(NOTES, 'utf8'))
  const note = (name: string): string => notes.get(name) ?? ''
  const parts = measured.map(({ name, rows }) =>
    [`## ${name}`, note(name), renderTable(rows)].filter((part) => part !== '').join('\n\n'),
  )
  return [
    '# Benchmarks',
    `Measured on ${now.toISOString().slice(0, 10)} by \`npm run bench\`, which writes this page.`,
    note('how'),
    renderMachineTable(),
    ...parts,
    note('growth'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

/** Maps each second-level heading to the text below it. */
const splitNotes = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((part) => {
        const [name = '', ...lines] = part.split('\n')
        return [name.trim(), lines.join('\n').trim()] as const
      }),
  )

const TABLE_HEAD = [
  '| | ratio | 10 to 90 % | rounds | target | measured | 10 to 90 % | beside it | |',
  '|---|---:|---:|---:|---:|---:|---:|---:|---|',
]

const renderTable = (rows: readonly BenchmarkRow[]): string => [...TABLE_HEAD, ...rows.map(renderRow)].join('\n')

function renderRow(row: BenchmarkRow): string {
  const { description, unit, ratios, figures, reference } = row
  const median = computeQuantile(ratios, 0.5)
  const cells = [
    description,
    formatAmount(median),
    formatSpread(ratios),
    `${ratios.length}`,
    describeVerdict(row),
    `${formatAmount(computeQuantile(figures, 0.5))} ${unit}`,
    formatSpread(figures),
    `${formatAmount(computeQuantile(reference.figures, 0.5))} ${unit}`,
    reference.name,
  ]
  return `| ${cells.join(' | ')} |`
}

const formatSpread = (values: readonly number[]): string =>
  `${formatAmount(computeQuantile(values, 0.1))} to ${formatAmount(computeQuantile(values, 0.9))}`

/** Adds a warning if the limit lies between the 10 % and 90 % quantiles, since another run may then reach the other verdict. */
function describeVerdict(row: BenchmarkRow): string {
  const { ratios, target, maxRatio } = row
  const verdict = judgeRow(row)
  const limit = target ?? maxRatio
  if (verdict === undefined || limit === undefined) return ''
  const isStraddling = computeQuantile(ratios, 0.1) < limit && computeQuantile(ratios, 0.9) >= limit
  const warning = isStraddling ? ', too close to tell: its rounds lie on both sides' : ''
  return `${target === undefined ? '≤' : '≥'} ${formatAmount(limit)}: ${verdict.hasMissed ? 'missed' : 'held'}${warning}`
}
