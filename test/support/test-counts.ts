/** The counts of a run. A unit is a test, a round, a seed, a mutant or a request. */
export type TestCounts = { readonly passed: number; readonly failed: number; readonly skipped: number }

/** Formats the last line of a command that tests. `npm run proof` and CI read it. */
export const formatTestCounts = ({ passed, failed, skipped }: TestCounts): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`

/** Reads the last counts of an output. @returns undefined if the output has none */
export function readTestCounts(output: string): TestCounts | undefined {
  const match = [...output.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)].at(-1)
  return match && { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3]) }
}

export const addTestCounts = (counts: readonly TestCounts[]): TestCounts => ({
  passed: counts.reduce((sum, { passed }) => sum + passed, 0),
  failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  skipped: counts.reduce((sum, { skipped }) => sum + skipped, 0),
})
