import { computeQuantile, type BenchmarkRow, judgeRow } from './harness.ts'

const HEADINGS = ['', 'ratio', '10 to 90 %', 'target', 'measured', 'reference', '']

/** Formats the rows as a text table, with medians and the span from 10 to 90 %. */
export function formatBenchmarkTable(rows: readonly BenchmarkRow[]): string {
  const lines = [HEADINGS, ...rows.map(formatCells)]
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const text = lines.map((line) =>
    line
      .map((cell, column) => padCell(cell, widths[column] ?? 0, column))
      .join('  ')
      .trimEnd(),
  )
  return text.toSpliced(1, 0, widths.map((width) => '-'.repeat(width)).join('  ')).join('\n')
}

function formatCells(row: BenchmarkRow): readonly string[] {
  const { description, unit, ratios, figures, reference } = row
  const verdict = judgeRow(row)
  return [
    description,
    formatAmount(computeQuantile(ratios, 0.5)),
    `${formatAmount(computeQuantile(ratios, 0.1))} to ${formatAmount(computeQuantile(ratios, 0.9))}`,
    verdict === undefined ? '' : `${verdict.requirement}${verdict.hasMissed ? ' short' : ''}`,
    `${formatAmount(computeQuantile(figures, 0.5))} ${unit}`,
    `${formatAmount(computeQuantile(reference.figures, 0.5))} ${unit}`,
    reference.name,
  ]
}

/** Aligns texts to the left and numbers to the right. */
const padCell = (cell: string, width: number, column: number): string =>
  column === 0 || column === HEADINGS.length - 1 ? cell.padEnd(width) : cell.padStart(width)

export const formatAmount = (value: number): string =>
  value < 100 ? value.toPrecision(value < 1 ? 2 : 3) : Math.round(value).toLocaleString('en')
