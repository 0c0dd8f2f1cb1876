import { readFileSync } from 'node:fs'
import { computeQuantile, type BenchmarkRow } from './harness.ts'
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

function renderRow({ description, unit, ratios, figures, reference, target }: BenchmarkRow): string {
  const median = computeQuantile(ratios, 0.5)
  const cells = [
    description,
    formatAmount(median),
    formatSpread(ratios),
    `${ratios.length}`,
    target === undefined ? '' : `≥ ${formatAmount(target)}: ${describeVerdict(ratios, target)}`,
    `${formatAmount(computeQuantile(figures, 0.5))} ${unit}`,
    formatSpread(figures),
    `${formatAmount(computeQuantile(reference.figures, 0.5))} ${unit}`,
    reference.name,
  ]
  return `| ${cells.join(' | ')} |`
}

const formatSpread = (values: readonly number[]): string =>
  `${formatAmount(computeQuantile(values, 0.1))} to ${formatAmount(computeQuantile(values, 0.9))}`

/** Adds a warning if the target lies between the 10 % and 90 % quantiles, since another run may then reach the other verdict. */
function describeVerdict(ratios: readonly number[], target: number): string {
  const isStraddling = computeQuantile(ratios, 0.1) < target && computeQuantile(ratios, 0.9) >= target
  return `${computeQuantile(ratios, 0.5) >= target ? 'held' : 'missed'}${isStraddling ? ', too close to tell: its rounds lie on both sides' : ''}`
}
