import { isMutantKilled, type MutantVerdict } from './run-mutants.ts'
import { mutantAreas } from './mutant.ts'

/** @returns the test that killed the mutant, or the reason why no test did */
function describeKiller({ result }: MutantVerdict): string {
  switch (result.outcome) {
    case 'failed':
      return result.isTimeout ? `${result.test} (by timeout)` : result.test
    case 'hung':
      return 'NO TEST: the test run exceeded its time limit, and no test reports why'
    case 'passed':
      return 'NO TEST: the mutant survives'
    case 'broken':
      return `NOT TESTED: ${result.why.split('\n')[0]}`
  }
}

export const formatVerdict = (verdict: MutantVerdict): string =>
  `${verdict.mutant.id.padEnd(34)}  ${verdict.mutant.area.padEnd(10)}  ${verdict.seconds.toFixed(1).padStart(5)} s  ${describeKiller(verdict)}`

export function formatMutantSummary(verdicts: readonly MutantVerdict[]): string {
  const killed = verdicts.filter(isMutantKilled).length
  return killed === verdicts.length
    ? `${killed} mutants, all killed.`
    : `${verdicts.length} mutants, ${verdicts.length - killed} not killed; write a test for each.`
}

/** @returns the text of docs/mutants.md */
export const formatMutantsPage = (verdicts: readonly MutantVerdict[]): string => `# Mutants

A mutant is one small, realistic fault: a missing check, a wrong comparison, a position that moves too early. Each of the ${verdicts.length} below was put into its own copy of the code, and a test failed. This proves that the tests check these rules. A golden file does not count as such a test, because it fails after every change.

\`\`\`
npm run proof -- mutants                 test all mutants; exit code 1 if one survives
npm run proof -- mutants --area guard    test the mutants of one area
npm run proof -- mutants --id <mutant>   test one mutant
npm run proof -- mutants --list          list all mutants
npm run proof -- mutants --write         test all mutants and write this page
\`\`\`

First the same tests run without any mutant. \`test/mutants/areas\` contains the faults: the exact text and its replacement. If the code changes, \`npm test\` reports the mutants that no longer match it.
${mutantAreas.map((area) => formatArea(area, verdicts)).join('')}
The last column is the duration in seconds of one run of the test files on ${process.version}, two mutants at a time. Most of it is the start of vitest.
`

function formatArea(area: string, verdicts: readonly MutantVerdict[]): string {
  const rows = verdicts.filter(({ mutant }) => mutant.area === area).map(formatPageRow)
  return rows.length === 0
    ? ''
    : `\n## ${area}\n\n| mutant | fault and damage | killed by | s |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

const formatPageRow = (verdict: MutantVerdict): string =>
  `| ${[verdict.mutant.id, verdict.mutant.description, describeKiller(verdict), verdict.seconds.toFixed(1)].map(escapeCell).join(' | ')} |`

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
