import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestCounts, countsFileVariable } from './count-reporter.ts'
import { startProgram } from '../test/support/processes.ts'

const root = join(import.meta.dirname, '..')

export type SuiteRun = { readonly counts: TestCounts; readonly seconds: number }

/**
 * Runs a suite in its own vitest process. If that process crashes, the other suites still run, and all test counts are summed.
 * @param onOutput receives the whole output at the end; without it, vitest writes to the terminal while it runs
 */
export async function runSuite(
  name: string,
  onOutput: ((text: string) => void) | undefined,
  signal: AbortSignal,
): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  const countsFile = join(folder, 'counts.json')
  const startedAtMs = performance.now()
  try {
    const { exit, output } = await runVitest(name, countsFile, onOutput === undefined, signal)
    onOutput?.(output)
    const counts = readCounts(countsFile)
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    if (exit === 0 || counts.failed > 0) return { counts, seconds }
    console.error(`\nvitest ended with ${exit} but reported no failed test, so suite ${name} counts one more failure.`)
    return { counts: { ...counts, failed: 1, failures: [`${name}: vitest ended with ${exit}`] }, seconds }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function runVitest(
  name: string,
  countsFile: string,
  usesTerminal: boolean,
  signal: AbortSignal,
): Promise<{ readonly exit: number | string; readonly output: string }> {
  const { output, ended } = startProgram(join(root, 'node_modules/.bin/vitest'), ['run', '--project', name], {
    cwd: root,
    signal,
    ...(usesTerminal && { stdio: 'inherit' }),
    env: { ...process.env, [countsFileVariable]: countsFile, ...(usesTerminal && process.stdout.isTTY ? {} : { NO_COLOR: '1' }) },
  })
  const { code, signal: signalName, stderr } = await ended
  return { exit: code ?? signalName ?? stderr, output: output() }
}

function readCounts(file: string): TestCounts {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as TestCounts // count-reporter.ts has just written it
  } catch {
    return { passed: 0, failed: 0, skipped: [], failures: [], files: [] }
  }
}
