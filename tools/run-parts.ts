import { join } from 'node:path'
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node'
import type { TestPart } from './parts.ts'

const root = join(import.meta.dirname, '..')

export type TestResults = {
  readonly passed: number
  readonly skipped: readonly string[]
  /** Names of failed tests, hooks and files, and one entry for errors that belong to no test. */
  readonly failures: readonly string[]
  /** Tests that failed and then passed at a second try, with their file. They count as passed. */
  readonly flaky: readonly string[]
  readonly files: readonly { readonly file: string; readonly ms: number }[]
}

export const noResults: TestResults = { passed: 0, skipped: [], failures: [], flaky: [], files: [] }

export const addResults = (one: TestResults, other: TestResults): TestResults => ({
  passed: one.passed + other.passed,
  skipped: [...one.skipped, ...other.skipped],
  failures: [...one.failures, ...other.failures],
  flaky: [...one.flaky, ...other.flaky],
  files: [...one.files, ...other.files],
})

/**
 * Runs the test files of the parts.
 * @param retriesFailedFiles runs each file with a failure once more, alone. A test that passes then is flaky.
 */
export async function runParts(
  parts: readonly TestPart[],
  { retriesFailedFiles = false }: { readonly retriesFailedFiles?: boolean } = {},
): Promise<TestResults> {
  const modules = await runFiles(parts, [])
  if (!retriesFailedFiles) return sumResults(modules)
  const isRetried = ({ file, failures }: FileResults): boolean => failures.length > 0 && file !== ''
  let results = sumResults(modules.filter((one) => !isRetried(one)))
  for (const first of modules.filter(isRetried)) {
    console.log(`\nRunning ${first.file} once more, because of:\n${first.failures.map((name) => `  ${name}`).join('\n')}`)
    results = addResults(results, judgeRetry(first, sumResults(await runFiles(parts, [join(root, first.file)]))))
  }
  return results
}

/** A second try that skips a test, or runs none, does not excuse the failures of the first. */
function judgeRetry(first: FileResults, second: TestResults): TestResults {
  const isSkipped = (name: string): boolean => second.skipped.some((one) => one === name || one.startsWith(`${name}: `))
  if (second.passed + second.failures.length === 0) return sumResults([first])
  const missing = first.failures.filter((name) => !second.failures.includes(name))
  return {
    ...second,
    failures: [...second.failures, ...missing.filter(isSkipped)],
    flaky: missing.filter((name) => !isSkipped(name)),
  }
}

type FileResults = Omit<TestResults, 'files' | 'flaky'> & { readonly file: string; readonly ms: number }

/** @returns the results by file. Errors that belong to no file are the failure of an entry with an empty file name. */
async function runFiles(parts: readonly TestPart[], files: readonly string[]): Promise<readonly FileResults[]> {
  const vitest = await createVitest('test', {
    root,
    watch: false,
    project: parts.map(({ name }) => name),
    passWithNoTests: true,
  })
  const end = (): void => void vitest.close().finally(() => process.exit(130))
  process.once('SIGTERM', end).once('SIGINT', end)
  try {
    await vitest.start([...files])
    return readResults(vitest)
  } finally {
    process.off('SIGTERM', end).off('SIGINT', end)
    await vitest.close()
  }
}

function readResults({ state }: Vitest): readonly FileResults[] {
  const errors = state.getUnhandledErrors()
  const strays = [`errors that belong to no test: ${errors.map((error) => String(error)).join('; ')}`]
  return [
    ...state.getTestModules().map(readModule),
    ...(errors.length > 0 ? [{ file: '', ms: 0, passed: 0, skipped: [], failures: strays }] : []),
  ]
}

const nameOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`

/** Files that cannot be loaded and hooks that throw belong to no test, so each of them is a failure of its own. */
function readModule(module: TestModule): FileResults {
  const tests = [...module.children.allTests()]
  const broken = [module, ...module.children.allSuites()].filter((container) => container.errors().length > 0)
  return {
    file: module.relativeModuleId,
    ms: Math.round(module.diagnostic().duration),
    passed: tests.filter((test) => test.result().state === 'passed').length,
    skipped: tests.flatMap((test) => {
      const result = test.result()
      return result.state === 'skipped' ? [`${nameOf(test)}${result.note ? `: ${result.note}` : ''}`] : []
    }),
    failures: [
      ...tests.filter((test) => test.result().state === 'failed').map(nameOf),
      ...broken.map((one) => (one.type === 'module' ? one.relativeModuleId : `${one.module.relativeModuleId} > ${one.fullName}`)),
    ],
  }
}

const sumResults = (modules: readonly FileResults[]): TestResults =>
  modules.reduce<TestResults>(
    (sum, { passed, skipped, failures, file, ms }) =>
      addResults(sum, { passed, skipped, failures, flaky: [], files: [{ file, ms }] }),
    noResults,
  )
