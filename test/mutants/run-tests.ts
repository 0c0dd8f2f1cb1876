import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** What became of test files in a copy. `broken`: nothing was tested, so nothing is said. */
export type Outcome =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'failed'; readonly test: string; readonly isTimeout: boolean }
  | { readonly outcome: 'hung' }
  | { readonly outcome: 'broken'; readonly why: string }

/** As vitest's JSON reporter writes it, as far as it matters here. */
type Report = {
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

const running = new Set<ChildProcess>()

/** Ends what is still running, when the whole is given up. */
export function endAll(): void {
  for (const child of running) endGroup(child)
}

/** Runs test files in a copy of the checkout, up to the first failure. */
export async function runTests(folder: string, files: readonly string[], limitMs: number, workers = 1): Promise<Outcome> {
  const scratch = mkdtempSync(join(tmpdir(), 'penstock-mutant-'))
  const report = join(scratch, 'report.json')
  try {
    const ended = await vitest(folder, [...files, '--bail=1', `--maxWorkers=${workers}`, `--outputFile=${report}`], limitMs)
    if (ended === 'hung') return { outcome: 'hung' }
    return judged(folder, readFileSync(report, 'utf8'), ended)
  } catch (error) {
    return { outcome: 'broken', why: String(error) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

type Ended = { readonly code: number | null; readonly said: string }

function vitest(folder: string, args: readonly string[], limitMs: number): Promise<Ended | 'hung'> {
  const command = join(folder, 'node_modules/vitest/vitest.mjs')
  // A group of its own, so that its workers go with it.
  const child = spawn(process.execPath, [command, 'run', '--reporter=json', ...args], {
    cwd: folder,
    env: cleanEnv(),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  running.add(child)
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said = `${said}${text.toString()}`.slice(-4000)))
  return new Promise((resolve, reject) => {
    let hung = false
    const limit = setTimeout(() => {
      hung = true
      endGroup(child)
    }, limitMs)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(limit)
      running.delete(child)
      resolve(hung ? 'hung' : { code, said })
    })
  })
}

/** Without what a surrounding vitest or npm set for itself. */
const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_ENV$|PENSTOCK_|npm_)/.test(name)))

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended by itself
  }
}

function judged(folder: string, json: string, { code, said }: Ended): Outcome {
  const { testResults } = JSON.parse(json) as Report // vitest has just written it
  for (const { name, assertionResults } of testResults) {
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (!failed) continue
    const test = [relative(folder, name), ...failed.ancestorTitles, failed.title].join(' > ')
    return { outcome: 'failed', test, isTimeout: /timed out in|: not within \d+ ms/.test(failed.failureMessages[0] ?? '') }
  }
  const unloaded = testResults.find(({ status, assertionResults }) => status === 'failed' || assertionResults.length === 0)
  if (unloaded) return { outcome: 'broken', why: `${relative(folder, unloaded.name)}: ${unloaded.message}` }
  if (testResults.length === 0) return { outcome: 'broken', why: 'no test file was found' }
  return code === 0 ? { outcome: 'passed' } : { outcome: 'broken', why: stripVTControlCharacters(said).trim() }
}
