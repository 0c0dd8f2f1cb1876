import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@penstock/testkit/until.ts'

/** What every test of a running product sets: fast blocks, short windows, no limits. A test names what it wants otherwise. */
export const QUICK: Readonly<Record<string, string>> = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.25',
  PENSTOCK_OPEN_WINDOW_SECONDS: '10',
  PENSTOCK_BUY_PER_MINUTE: '0',
  PENSTOCK_ORDERS_PER_DESTINATION: '0',
  PENSTOCK_ORDERS_PER_IP: '0',
  PENSTOCK_HELD_PER_PEER: '0',
  PENSTOCK_LOGIN_PER_MINUTE: '0',
}

/** Where nothing is about how late somebody may be: on a slow machine nobody's time is up. */
export const PATIENT: Readonly<Record<string, string>> = {
  PENSTOCK_OPEN_WINDOW_SECONDS: '60',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '40',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
}

export type Product = {
  readonly url: string
  readonly dataDir: string
  readonly output: () => string
  /** The operator's interface: orders of anybody, audit, the simulated network. */
  operator<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T>
  /** Ends the process as a power cut would, and waits until it is gone. */
  kill(): Promise<void>
  /** Resolves when the process has ended by itself or by a crash point. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>
}

const root = new URL('../..', import.meta.url).pathname

const folders = new Set<string>()
const children = new Set<ChildProcess>()
// Whatever a test left running or lying about goes with the process that made it.
process.once('exit', () => {
  killAll()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
// So vitest ends whoever ran a test file, and half a second later it kills, which may be in the middle of a large folder.
process.once('SIGTERM', () => {
  killAll()
  spawn('rm', ['-rf', '--', ...folders], { detached: true, stdio: 'ignore' }).unref()
  folders.clear()
  process.exit(143)
})

function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

/** A folder for one test's data. */
export function scratch(): string {
  const path = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  folders.add(path)
  return path
}

/** A market that may still be starting: it can be killed before it is ready. */
export type Starting = Pick<Product, 'ended' | 'kill'> & {
  /** Rejects where it ends before it is ready, or takes longer than a minute. */
  readonly ready: Promise<Product>
}

let compiled: string | undefined
/** What was compiled once need not be again, which halves the time of a start. */
export const machine = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  NODE_COMPILE_CACHE: (compiled ??= scratch()),
})

/** Starts the whole market as a process of its own, on a free port. @throws where it is not ready within a minute */
export const startProduct = (dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<Product> =>
  spawnProduct(dataDir, env).ready

export function spawnProduct(dataDir: string, env: Readonly<Record<string, string>> = {}): Starting {
  const child = spawn(process.execPath, ['services/standalone/src/main.ts', '--no-demo'], {
    cwd: root,
    env: { ...machine(), ...QUICK, PORT: '0', PENSTOCK_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  children.add(child)
  const ended = once(child, 'exit').then(([code, signal]) => {
    children.delete(child)
    return { code: code as number | null, signal: signal as string | null } // as node:child_process emits them
  })
  const own = controls(child, ended)
  const answering = async (): Promise<Product> => {
    const url = await addressOf(child, () => output)
    await until('/readyz answers 200', () => stillRuns(child, () => output) && isReady(url), 60_000, 20)
    return { url, dataDir, output: () => output, ended, ...own, operator: operatorOf(url, dataDir) }
  }
  const ready = answering()
  // Who kills it before it is ready need not wait for it.
  ready.catch(() => undefined)
  return { ready, ended, kill: own.kill }
}

const addressOf = (child: ChildProcess, output: () => string): Promise<string> =>
  until(
    'the market tells its address',
    () => stillRuns(child, output) && /http:\/\/127\.0\.0\.1:\d+/.exec(output())?.[0],
    60_000,
    20,
  )

function stillRuns(child: ChildProcess, output: () => string): true {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended before it was ready:\n${output()}`)
  return true
}

const isReady = async (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    (response) => response.status === 200,
    () => false,
  )

function controls(child: ChildProcess, ended: Product['ended']): Pick<Product, 'kill' | 'stop'> {
  return {
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async stop() {
      child.kill('SIGTERM')
      return (await ended).code
    },
  }
}

export const operatorOf =
  (url: string, dataDir: string) =>
  async <T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> => {
    const token = readFileSync(join(dataDir, 'operator.token'), 'utf8').trim()
    const response = await fetch(`${url}/operator${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer: unknown = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${JSON.stringify(answer)}`)
    return answer as T // the caller says what it asked for
  }
