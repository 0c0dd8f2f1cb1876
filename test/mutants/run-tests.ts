import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type ProgramResult, startProgram } from '../support/processes.ts'

/** The outcome of test files in a copy of the checkout. `broken` means that the tests did not run. */
export type TestRunOutcome =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'failed'; readonly test: string; readonly isTimeout: boolean }
  | { readonly outcome: 'hung' }
  | { readonly outcome: 'broken'; readonly why: string }

/** The fields of the report of vitest's JSON reporter that this file reads. */
type VitestReport = {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly status: string
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

const runningProcesses = new Set<ChildProcess>()

/** Kills all test runs that have not ended. */
export function endAllRuns(): void {
  for (const child of runningProcesses) endGroup(child)
}

/** Runs test files in a copy of the checkout, and stops at the first failure. */
export async function runTests(folder: string, files: readonly string[], limitMs: number, workers = 1): Promise<TestRunOutcome> {
  const tempFolder = mkdtempSync(join(tmpdir(), 'penstock-mutant-'))
  const report = join(tempFolder, 'report.json')
  try {
    const exit = await runVitest(folder, [...files, '--bail=1', `--maxWorkers=${workers}`, `--outputFile=${report}`], limitMs)
    if (exit === 'hung') return { outcome: 'hung' }
    return readResult(folder, readFileSync(report, 'utf8'), exit)
  } catch (error) {
    return { outcome: 'broken', why: String(error) }
  } finally {
    rmSync(tempFolder, { recursive: true, force: true })
  }
}

async function runVitest(folder: string, args: readonly string[], limitMs: number): Promise<ProgramResult | 'hung'> {
  const command = join(folder, 'node_modules/vitest/vitest.mjs')
  // The child gets a separate process group, so that a kill of the group also ends its workers.
  const { child, ended } = startProgram(process.execPath, [command, 'run', '--reporter=json', ...args], {
    cwd: folder,
    env: cleanEnv(),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  runningProcesses.add(child)
  let hasTimedOut = false
  const limit = setTimeout(() => {
    hasTimedOut = true
    endGroup(child)
  }, limitMs)
  const result = await ended
  clearTimeout(limit)
  runningProcesses.delete(child)
  return hasTimedOut ? 'hung' : result
}

/** The environment without the variables of a surrounding vitest, npm or market. */
const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$|PENSTOCK_|npm_)/.test(name)))

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

function readResult(folder: string, json: string, { code, stderr }: ProgramResult): TestRunOutcome {
  const { testResults } = JSON.parse(json) as VitestReport // vitest has just written it
  for (const { name, assertionResults } of testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (!failed) continue
    const test = [relative(folder, name), ...failed.ancestorTitles, failed.title].join(' > ')
    return { outcome: 'failed', test, isTimeout: /timed out in|: not within \d+ ms/.test(failed.failureMessages[0] ?? '') }
  }
  const notLoaded = testResults.find(({ status, assertionResults }) => status === 'failed' || assertionResults.length === 0)
  if (notLoaded) return { outcome: 'broken', why: `${relative(folder, notLoaded.name)}: ${notLoaded.message}` }
  if (testResults.length === 0) return { outcome: 'broken', why: 'no test file was found' }
  return code === 0 ? { outcome: 'passed' } : { outcome: 'broken', why: stripVTControlCharacters(stderr.slice(-4000)).trim() }
}
