import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

export type TestCounts = {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly string[]
  /** Names of failed tests, suites and modules, and one entry for errors that belong to no test. */
  readonly failures: readonly string[]
  readonly files: readonly { readonly file: string; readonly ms: number }[]
}

/** The environment variable with the path of the file to which vitest writes its counts for `npm test`. */
export const countsFileVariable = 'PENSTOCK_TEST_TALLY'

/**
 * A vitest reporter that counts tests. Files that cannot be loaded, hooks that throw and unhandled
 * rejections belong to no test, so each of them counts as one failure here.
 */
export const countReporter: Reporter = {
  onTestRunEnd: (modules, unhandledErrors) => {
    const file = process.env[countsFileVariable]
    if (file) writeFileSync(file, JSON.stringify(countTests(modules, unhandledErrors.length)))
  },
}

const nameOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`

function countTests(modules: readonly TestModule[], unhandledErrors: number): TestCounts {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const containers = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const broken = containers.filter((container) => container.errors().length > 0)
  const failedTests = tests.filter((test) => test.result().state === 'failed')
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failed: failedTests.length + broken.length + unhandledErrors,
    skipped: tests.flatMap((test) => {
      const result = test.result()
      return result.state === 'skipped' ? [`${nameOf(test)}${result.note ? `: ${result.note}` : ''}`] : []
    }),
    failures: [
      ...failedTests.map(nameOf),
      ...broken.map((one) => (one.type === 'module' ? one.relativeModuleId : `${one.module.relativeModuleId} > ${one.fullName}`)),
      ...(unhandledErrors > 0 ? [`errors that belong to no test: ${unhandledErrors}`] : []),
    ],
    files: modules.map((module) => ({ file: module.relativeModuleId, ms: Math.round(module.diagnostic().duration) })),
  }
}
