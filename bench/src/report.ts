import { readFileSync } from 'node:fs'
import { quantile, type Row } from './harness.ts'
import { machine } from './machine.ts'
import { amount } from './table.ts'

export type Measured = { readonly name: string; readonly rows: readonly Row[] }

/** What stands beside the figures of each benchmark: what is measured, and what its shortfalls come from. */
const NOTES = new URL('../notes.md', import.meta.url)

/** docs/benchmarks.md: figures that this run measured, and the words that are kept with the benchmarks. */
export function benchmarksPage(measured: readonly Measured[], now = new Date()): string {
  const notes = notesByName(readFileSync(NOTES, 'utf8'))
  const note = (name: string): string => notes.get(name) ?? ''
  const parts = measured.map(({ name, rows }) =>
    [`## ${name}`, note(name), tableOf(rows)].filter((part) => part !== '').join('\n\n'),
  )
  return [
    '# Benchmarks',
    `Measured on ${now.toISOString().slice(0, 10)} by \`npm run bench\`, which writes this page.`,
    note('how'),
    ['| | |', '|---|---|', ...machine().map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
    ...parts,
    note('growth'),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

/** The text below each heading of the second level. */
const notesByName = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((part) => {
        const [name = '', ...lines] = part.split('\n')
        return [name.trim(), lines.join('\n').trim()] as const
      }),
  )

const HEAD = [
  '| | ratio | 10 to 90 % | rounds | target | measured | 10 to 90 % | beside it | |',
  '|---|---:|---:|---:|---:|---:|---:|---:|---|',
]

const tableOf = (rows: readonly Row[]): string => [...HEAD, ...rows.map(lineOf)].join('\n')

function lineOf({ what, unit, ratios, figures, reference, target }: Row): string {
  const median = quantile(ratios, 0.5)
  const cells = [
    what,
    amount(median),
    spread(ratios),
    `${ratios.length}`,
    target === undefined ? '' : `≥ ${amount(target)}: ${verdict(ratios, target)}`,
    `${amount(quantile(figures, 0.5))} ${unit}`,
    spread(figures),
    `${amount(quantile(reference.figures, 0.5))} ${unit}`,
    reference.name,
  ]
  return `| ${cells.join(' | ')} |`
}

const spread = (values: readonly number[]): string => `${amount(quantile(values, 0.1))} to ${amount(quantile(values, 0.9))}`

/** Where rounds of one run lie on both sides of a target, another run may end on the other side. */
function verdict(ratios: readonly number[], target: number): string {
  const isBoth = quantile(ratios, 0.1) < target && quantile(ratios, 0.9) >= target
  return `${quantile(ratios, 0.5) >= target ? 'held' : 'missed'}${isBoth ? ', too close to tell: its rounds lie on both sides' : ''}`
}
