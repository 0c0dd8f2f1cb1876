import { type CheckedConfiguration, isAsExpected } from './check-all.ts'

/** Formats the result of one configuration as a line. */
export const formatChecked = (checked: CheckedConfiguration): string => {
  const { configuration, outcome } = checked
  const { name, expected } = configuration
  const result = isAsExpected(checked) ? outcome.result : `${outcome.result}, EXPECTED ${expected}`
  return `${name.padEnd(40)}  ${`${outcome.seconds} s`.padStart(7)}  ${formatCount(outcome.distinct).padStart(10)} states  ${result}`
}

export function formatModelSummary(checked: readonly CheckedConfiguration[]): string {
  const unexpected = checked.filter((one) => !isAsExpected(one)).length
  return unexpected === 0
    ? `${checked.length} configurations, all as expected.`
    : `${checked.length} configurations, ${unexpected} not as expected; see each trace with --trace.`
}

const RESULTS_HEADING = '## Results\n'

/** @returns the page with its last section replaced by the results of all configurations */
export function replaceResults(page: string, checked: readonly CheckedConfiguration[]): string {
  const [before] = page.split(RESULTS_HEADING)
  const rows = checked.map(({ configuration: { name, description, size }, outcome: { result, generated, distinct, depth } }) => {
    const counts = [generated, distinct, depth].map(formatCount)
    return `| ${name} | ${description} | ${result} | ${counts.join(' | ')} | ${size === 'small' ? 'yes' : ''} |`
  })
  return `${before}${RESULTS_HEADING}
\`npm run proof -- model --write\` makes this table. Where a property is violated TLC stops, and the counts are those up to there.

| configuration | about | result | generated | distinct | depth | fast |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}

const formatCount = (count: number | undefined): string => count?.toLocaleString('en-US') ?? ''
