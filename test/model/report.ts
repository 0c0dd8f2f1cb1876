import { type Checked, isAsExpected } from './check-all.ts'

/** One line of a run. */
export const row = (checked: Checked): string => {
  const { configuration, outcome } = checked
  const { name, expected } = configuration
  const found = isAsExpected(checked) ? outcome.result : `${outcome.result}, EXPECTED ${expected}`
  return `${name.padEnd(40)}  ${`${outcome.seconds} s`.padStart(7)}  ${counted(outcome.distinct).padStart(10)} states  ${found}`
}

export function summary(checked: readonly Checked[]): string {
  const others = checked.filter((one) => !isAsExpected(one)).length
  return others === 0
    ? `${checked.length} configurations, all as expected.`
    : `${checked.length} configurations, ${others} not as expected; see each trace with --trace.`
}

const HEADING = '## Results\n'

/** @returns the page with its last section made anew from a run of all configurations */
export function withResults(page: string, checked: readonly Checked[]): string {
  const [before] = page.split(HEADING)
  const rows = checked.map(({ configuration: { name, about, size }, outcome: { result, generated, distinct, depth } }) => {
    const numbers = [generated, distinct, depth].map(counted)
    return `| ${name} | ${about} | ${result} | ${numbers.join(' | ')} | ${size === 'small' ? 'yes' : ''} |`
  })
  return `${before}${HEADING}
\`npm run model -- --write\` makes this table. Where a property is violated TLC stops, and the counts are those up to there.

| configuration | about | result | generated | distinct | depth | fast |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}

const counted = (count: number | undefined): string => count?.toLocaleString('en-US') ?? ''
