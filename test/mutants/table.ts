import { isKilled, type Verdict } from './hunt.ts'
import { areas } from './mutant.ts'

/** What killed it, or that nothing did. */
function killerOf({ result }: Verdict): string {
  switch (result.outcome) {
    case 'failed':
      return result.isTimeout ? `${result.test} (by time-out)` : result.test
    case 'hung':
      return 'NOTHING: its tests did not come to an end, and none of them says why'
    case 'passed':
      return 'NOTHING: it survives'
    case 'broken':
      return `NOTHING WAS TESTED: ${result.why.split('\n')[0]}`
  }
}

export const row = (verdict: Verdict): string =>
  `${verdict.mutant.id.padEnd(34)}  ${verdict.mutant.area.padEnd(10)}  ${verdict.seconds.toFixed(1).padStart(5)} s  ${killerOf(verdict)}`

export function summary(verdicts: readonly Verdict[]): string {
  const killed = verdicts.filter(isKilled).length
  return killed === verdicts.length
    ? `${killed} mutants, all killed.`
    : `${verdicts.length} mutants, ${verdicts.length - killed} not killed: each of them is a test that is missing.`
}

/** The page for the documents. */
export const page = (verdicts: readonly Verdict[]): string => `# Mutants

A mutant is one small, real fault: a check left out, a wrong comparison, a position that moves too early. Each of the ${verdicts.length} below was put into a copy of the code by itself, and a test failed: so these rules are not only written down, they are watched. No golden file counts as that test, since it notices every change and understands none.

\`\`\`
npm run mutants                    all of them; ends with 1 where one survives
npm run mutants -- --area guard    those of one area
npm run mutants -- --id <mutant>   a single one, as often as you like
npm run mutants -- --list          what there is
npm run mutants -- --write         all of them, and this page
\`\`\`

First the same tests run without any mutant. The faults stand in \`test/mutants/areas\`: the exact text and what it is replaced by. Where the code moves on, \`npm test\` says which of them have to follow. Five of the mutants are part of \`npm test\`.
${areas.map((area) => section(area, verdicts)).join('')}
Seconds are those of one run of the test files on ${process.version}, two mutants at a time; most of it is the start of vitest.
`

function section(area: string, verdicts: readonly Verdict[]): string {
  const rows = verdicts.filter(({ mutant }) => mutant.area === area).map(pageRow)
  return rows.length === 0
    ? ''
    : `\n## ${area}\n\n| mutant | what it does wrong | killed by | s |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

const pageRow = (verdict: Verdict): string =>
  `| ${[verdict.mutant.id, verdict.mutant.wrong, killerOf(verdict), verdict.seconds.toFixed(1)].map(cell).join(' | ')} |`

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
