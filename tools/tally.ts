import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export type Tally = { readonly passed: number; readonly failed: number; readonly skipped: readonly string[] }

/** Where a run of vitest leaves its tally for `npm test`. */
export const tallyVariable = 'PENSTOCK_TEST_TALLY'

/**
 * A vitest reporter that counts. Files that cannot be loaded, hooks that throw and stray rejections
 * belong to no test, so each of them counts as one failure here.
 */
export const tallyReporter: Reporter = {
  onTestRunEnd: (modules, unhandledErrors) => {
    const file = process.env[tallyVariable]
    if (file) writeFileSync(file, JSON.stringify(tally(modules, unhandledErrors.length)))
  },
}

function tally(modules: readonly TestModule[], unhandledErrors: number): Tally {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const containers = modules.flatMap((module) => [module, ...module.children.allSuites()])
  const brokenContainers = containers.filter((container) => container.errors().length > 0).length
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failed: tests.filter((test) => test.result().state === 'failed').length + brokenContainers + unhandledErrors,
    skipped: tests.flatMap((test) => {
      const result = test.result()
      if (result.state !== 'skipped') return []
      return [`${test.module.relativeModuleId} > ${test.fullName}${result.note ? `: ${result.note}` : ''}`]
    }),
  }
}
