import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Tally, tallyVariable } from './tally.ts'

const root = join(import.meta.dirname, '..')

export type SuiteRun = { readonly tally: Tally; readonly seconds: number }

/**
 * A vitest of its own for a suite: should it crash, the others still run and the sum is still printed.
 * @param tell gets all that it said, at its end; without it, it speaks for itself while it runs
 */
export async function runSuite(name: string, tell: ((text: string) => void) | undefined, signal: AbortSignal): Promise<SuiteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  const tallyFile = join(folder, 'tally.json')
  const startedAtMs = performance.now()
  try {
    const { exit, said } = await runVitest(name, tallyFile, tell === undefined, signal)
    tell?.(said)
    const tally = readTally(tallyFile)
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    if (exit === 0 || tally.failed > 0) return { tally, seconds }
    console.error(`\nvitest ended with ${exit} without naming a failed test: suite ${name} counts one failure more.`)
    return { tally: { ...tally, failed: 1 }, seconds }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function runVitest(
  name: string,
  tallyFile: string,
  isAlone: boolean,
  signal: AbortSignal,
): Promise<{ readonly exit: number | string; readonly said: string }> {
  const vitest = spawn(join(root, 'node_modules/.bin/vitest'), ['run', '--project', name], {
    cwd: root,
    stdio: isAlone ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, [tallyVariable]: tallyFile, ...(isAlone && process.stdout.isTTY ? {} : { NO_COLOR: '1' }) },
  })
  let said = ''
  for (const stream of [vitest.stdout, vitest.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (said += text))
  const stop = () => vitest.kill()
  signal.addEventListener('abort', stop, { once: true })
  return new Promise((resolve) => {
    const end = (exit: number | string): void => {
      signal.removeEventListener('abort', stop)
      resolve({ exit, said })
    }
    vitest.once('error', (error) => end(error.message))
    vitest.once('close', (code, by) => end(code ?? by ?? 'no exit code'))
  })
}

function readTally(file: string): Tally {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Tally // written by tally.ts a moment ago
  } catch {
    return { passed: 0, failed: 0, skipped: [] }
  }
}
