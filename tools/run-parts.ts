import { join } from 'node:path'
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node'
import type { TestPart } from './parts.ts'
import { type FileResults, retryFailedFiles, sumResults, type TestResults } from './test-results.ts'

type RunOptions = {
  /** Runs each file with a failure once more, alone. A test that passes then is flaky. */
  readonly retriesFailedFiles?: boolean
  /** The folder of vitest.config.ts. */
  readonly root?: string
}

/** Runs the test files of the parts. */
export async function runParts(
  parts: readonly Pick<TestPart, 'name'>[],
  { retriesFailedFiles = false, root = join(import.meta.dirname, '..') }: RunOptions = {},
): Promise<TestResults> {
  const projects = parts.map(({ name }) => name)
  const first = await runFiles(root, projects, [])
  return retriesFailedFiles ? retryFailedFiles(first, (file) => runFiles(root, projects, [join(root, file)])) : sumResults(first)
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

async function runFiles(root: string, projects: readonly string[], files: readonly string[]): Promise<readonly FileResults[]> {
  const earlier = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)))
  const vitest = await createVitest('test', { root, watch: false, project: [...projects] })
  // Vitest's own listeners end this process before the servers of global setups are stopped.
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (!earlier.has(listener)) process.off(signal, listener)
  const end = (): void => void vitest.close().finally(() => process.exit(130))
  for (const signal of SIGNALS) process.once(signal, end)
  try {
    await vitest.start([...files])
    const results = readResults(vitest)
    // Failed tests set the exit code to 1, even if they pass at a second try. From here on only a failed teardown sets it.
    process.exitCode = 0
    await vitest.close()
    return Number(process.exitCode) === 0
      ? results
      : [...results, failureOutsideTests('a server or a setup that could not be stopped')]
  } finally {
    for (const signal of SIGNALS) process.off(signal, end)
    await vitest.close()
  }
}

const failureOutsideTests = (failure: string): FileResults => ({ file: '', ms: 0, passed: 0, skipped: [], failures: [failure] })

/** Vitest adds the path of the test file to an error that was thrown outside of a test. */
type StrayError = { readonly VITEST_TEST_PATH?: string; readonly message?: string }

function readResults({ state }: Vitest): readonly FileResults[] {
  const modules = state.getTestModules()
  const strayErrors = state.getUnhandledErrors() as readonly StrayError[]
  // The pool does not name the file of a worker that ended. That file is reported because it is unfinished.
  const isExplained = ({ VITEST_TEST_PATH: path, message = '' }: StrayError): boolean =>
    modules.some(({ moduleId }) => moduleId === path) || (message.startsWith('[vitest-pool]') && modules.some(isUnfinished))
  const nameless = strayErrors.filter((error) => !isExplained(error))
  return [
    ...modules.map((module) => readModule(module, strayErrors)),
    ...nameless.map(({ message }) => failureOutsideTests(`an error that belongs to no test file: ${message}`)),
  ]
}

const isUnfinished = (module: TestModule): boolean =>
  ['queued', 'pending'].includes(module.state()) ||
  [...module.children.allTests()].some((test) => test.result().state === 'pending')

const nameOf = (test: TestCase): string => `${test.module.relativeModuleId} > ${test.fullName}`

/**
 * Some failures belong to no test, and each of them is a failure of its own: a file that cannot be loaded, a hook that throws,
 * an error outside of a test, and a worker that ends before its tests.
 */
function readModule(module: TestModule, strayErrors: readonly StrayError[]): FileResults {
  const file = module.relativeModuleId
  const tests = [...module.children.allTests()]
  const failedContainers = [module, ...module.children.allSuites()].filter((container) => container.errors().length > 0)
  return {
    file,
    ms: Math.round(module.diagnostic().duration),
    passed: tests.filter((test) => test.result().state === 'passed').length,
    skipped: tests.flatMap((test) => {
      const result = test.result()
      return result.state === 'skipped' ? [`${nameOf(test)}${result.note ? `: ${result.note}` : ''}`] : []
    }),
    failures: [
      ...tests.filter((test) => test.result().state === 'failed').map(nameOf),
      ...failedContainers.map((one) => (one.type === 'module' ? file : `${file} > ${one.fullName}`)),
      ...(isUnfinished(module) ? [`${file} did not run to its end`] : []),
      ...(strayErrors.some(({ VITEST_TEST_PATH: path }) => path === module.moduleId)
        ? [`${file} has an error outside of its tests`]
        : []),
    ],
  }
}
