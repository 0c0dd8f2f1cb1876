export type TestResults = {
  readonly passed: number
  readonly skipped: readonly string[]
  /** Names of failed tests, hooks and files, and one entry for errors that belong to no file. */
  readonly failures: readonly string[]
  /** Tests that failed and then passed at a second try, with their file. They count as passed. */
  readonly flaky: readonly string[]
  readonly files: readonly { readonly file: string; readonly ms: number }[]
}

/** The results of one test file. `file` is empty for errors that belong to no file. */
export type FileResults = Omit<TestResults, 'files' | 'flaky'> & { readonly file: string; readonly ms: number }

export const noResults: TestResults = { passed: 0, skipped: [], failures: [], flaky: [], files: [] }

export const addResults = (one: TestResults, other: TestResults): TestResults => ({
  passed: one.passed + other.passed,
  skipped: [...one.skipped, ...other.skipped],
  failures: [...one.failures, ...other.failures],
  flaky: [...one.flaky, ...other.flaky],
  files: [...one.files, ...other.files],
})

export const sumResults = (files: readonly FileResults[]): TestResults =>
  files.reduce<TestResults>(
    (sum, { passed, skipped, failures, file, ms }) =>
      addResults(sum, { passed, skipped, failures, flaky: [], files: [{ file, ms }] }),
    noResults,
  )

/** Runs each file with a failure once more, alone. A test that passes then is flaky. */
export async function retryFailedFiles(
  first: readonly FileResults[],
  runFile: (file: string) => Promise<readonly FileResults[]>,
): Promise<TestResults> {
  const isRetried = ({ file, failures }: FileResults): boolean => failures.length > 0 && file !== ''
  let results = sumResults(first.filter((one) => !isRetried(one)))
  for (const failed of first.filter(isRetried)) {
    console.log(`\nRunning ${failed.file} once more, because of:\n${failed.failures.map((name) => `  ${name}`).join('\n')}`)
    results = addResults(results, judgeRetry(failed, sumResults(await runFile(failed.file))))
  }
  return results
}

/** A second try that skips a test, or runs none, does not excuse the failures of the first. */
function judgeRetry(first: FileResults, second: TestResults): TestResults {
  const isSkipped = (name: string): boolean =>
    second.skipped.some((one) => one === name || one.startsWith(`${name}: `) || one.startsWith(`${name} > `))
  if (second.passed + second.failures.length === 0) return sumResults([first])
  const missing = first.failures.filter((name) => !second.failures.includes(name))
  return {
    ...second,
    failures: [...second.failures, ...missing.filter(isSkipped)],
    flaky: missing.filter((name) => !isSkipped(name)),
  }
}
