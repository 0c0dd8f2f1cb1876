import { readTestCounts, type TestCounts } from '../test/support/test-counts.ts'

/** An entry of proof.json. */
export type ProofResult = TestCounts & {
  readonly part: string
  readonly short: boolean
  /** Seeds, and ranges of seeds such as `1-2000`. */
  readonly seeds: readonly string[]
  readonly seconds: number
  readonly finished_at: string
}

/** Reads the counts of a program. A program that fails without a failed unit, or prints no counts, counts as one failure. */
export function readCounts(output: string, code: number | null): TestCounts {
  const counts = readTestCounts(output)
  if (counts === undefined) return { passed: 0, failed: 1, skipped: 0 }
  return code === 0 || counts.failed > 0 ? counts : { ...counts, failed: 1 }
}

/** Reads the seeds that a program printed, as `seed 7` or as `seeds 1-2000` at the start of a line. */
export const readSeeds = (output: string): readonly string[] =>
  [...output.matchAll(/^(?:seed (\d+)\b|seeds (\d+-\d+)$)/gm)].map(([, seed, range]) => seed ?? range ?? '')

/** Replaces the part's earlier result, so that parts of several runs add up. Short and full results stay apart. */
export const replaceResult = (results: readonly ProofResult[], result: ProofResult): readonly ProofResult[] => [
  ...results.filter(({ part, short }) => part !== result.part || short !== result.short),
  result,
]

export const formatResults = (results: readonly ProofResult[]): string => `${JSON.stringify(results, null, 2)}\n`

/** @throws SyntaxError if the text is not JSON */
export const parseResults = (text: string): readonly ProofResult[] => JSON.parse(text) as ProofResult[] // `formatResults` wrote it.
