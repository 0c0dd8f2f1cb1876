import { quantile, type Row, verdictOf } from './harness.ts'

const HEADINGS = ['', 'ratio', '10 to 90 %', 'target', 'measured', 'reference', '']

/** The rows as one table of text: medians, and the span of the middle eight tenths. */
export function table(rows: readonly Row[]): string {
  const lines = [HEADINGS, ...rows.map(cells)]
  const widths = HEADINGS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  const text = lines.map((line) =>
    line
      .map((cell, column) => padded(cell, widths[column] ?? 0, column))
      .join('  ')
      .trimEnd(),
  )
  return text.toSpliced(1, 0, widths.map((width) => '-'.repeat(width)).join('  ')).join('\n')
}

function cells(row: Row): readonly string[] {
  const { what, unit, ratios, figures, reference } = row
  const verdict = verdictOf(row)
  return [
    what,
    amount(quantile(ratios, 0.5)),
    `${amount(quantile(ratios, 0.1))} to ${amount(quantile(ratios, 0.9))}`,
    verdict === undefined ? '' : `${verdict.wanted}${verdict.isShort ? ' short' : ''}`,
    `${amount(quantile(figures, 0.5))} ${unit}`,
    `${amount(quantile(reference.figures, 0.5))} ${unit}`,
    reference.name,
  ]
}

/** Words stand to the left, numbers to the right. */
const padded = (cell: string, width: number, column: number): string =>
  column === 0 || column === HEADINGS.length - 1 ? cell.padEnd(width) : cell.padStart(width)

export const amount = (value: number): string =>
  value < 100 ? value.toPrecision(value < 1 ? 2 : 3) : Math.round(value).toLocaleString('en')
