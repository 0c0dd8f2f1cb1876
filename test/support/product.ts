import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { startProgram } from './processes.ts'

/** The default settings of tests that start the product: fast blocks, a short opening window, and no rate limits. */
export const FAST_SETTINGS: Readonly<Record<string, string>> = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0.25',
  PENSTOCK_OPEN_WINDOW_SECONDS: '10',
  PENSTOCK_BUY_PER_MINUTE: '0',
  PENSTOCK_ORDERS_PER_DESTINATION: '0',
  PENSTOCK_ORDERS_PER_IP: '0',
  PENSTOCK_HELD_PER_PEER: '0',
  PENSTOCK_LOGIN_PER_MINUTE: '0',
}

/** Long timeouts for tests that do not concern deadlines, so that these do not expire on a slow machine. */
export const LONG_TIMEOUT_SETTINGS: Readonly<Record<string, string>> = {
  PENSTOCK_OPEN_WINDOW_SECONDS: '60',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '40',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '40',
}

/** The product under test: a running market that the test controls. */
export type Product = {
  readonly url: string
  readonly dataDir: string
  readonly output: () => string
  /** Calls the operator's API, which also controls the simulated network. @throws Error for an HTTP error */
  operator<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T>
  /** Sends SIGKILL, and waits until the process has exited. */
  kill(): Promise<void>
  /** Resolves when the process has exited. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Sends SIGTERM, and waits until the process has exited. @returns the exit code, or null after a signal */
  stop(): Promise<number | null>
}

const root = join(import.meta.dirname, '../..')

const tempFolders = new Set<string>()
const childProcesses = new Set<ChildProcess>()
// When this process exits, it kills its child processes and removes the temporary folders.
process.once('exit', () => {
  killAll()
  for (const folder of tempFolders) rmSync(folder, { recursive: true, force: true })
})
// Vitest kills a worker half a second after SIGTERM. Removing large folders may take longer, so a detached process does it.
process.once('SIGTERM', () => {
  killAll()
  startProgram('rm', ['-rf', '--', ...tempFolders], { detached: true, stdio: 'ignore' }).child.unref()
  tempFolders.clear()
  process.exit(143)
})

function killAll(): void {
  for (const child of childProcesses) child.kill('SIGKILL')
}

/** Creates a temporary folder, which is removed when this process exits. */
export function makeTempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'penstock-test-'))
  tempFolders.add(path)
  return path
}

/** A market that is starting. It can be killed before it is ready. */
export type StartingProduct = Pick<Product, 'ended' | 'kill'> & {
  /** Rejects if the process exits before it is ready, or is not ready within three minutes. */
  readonly ready: Promise<Product>
}

/** Node's compile cache, which all tests of this checkout share. A market saves its compiled modules once it is ready. */
const COMPILE_CACHE_FOLDER = join(root, 'node_modules/.cache/penstock-compiled')
/** Returns the environment for child processes, without other variables of this process. */
export const getChildEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  NODE_COMPILE_CACHE: COMPILE_CACHE_FOLDER,
})

/**
 * Starts the market in one child process, on a free port.
 * @param checkout the folder with the market's code
 * @throws Error if the market is not ready within three minutes
 */
export const startProduct = (
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  checkout: string = root,
): Promise<Product> => spawnProduct(dataDir, env, checkout).ready

export function spawnProduct(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  checkout: string = root,
): StartingProduct {
  const { child, output, ended } = startProgram(process.execPath, ['services/standalone/src/main.ts', '--no-demo'], {
    cwd: checkout,
    env: { ...getChildEnvironment(), ...FAST_SETTINGS, PORT: '0', PENSTOCK_DATA_DIR: dataDir, ...env },
  })
  childProcesses.add(child)
  child.once('exit', () => childProcesses.delete(child))
  const ownControls = createControls(child, ended)
  const waitUntilReady = async (): Promise<Product> => {
    const url = await waitForAddress(child, output)
    await waitUntil('/readyz answers 200', () => assertRunning(child, output) && isMarketReady(url), 180_000, 20)
    return { url, dataDir, output, ended, ...ownControls, operator: createOperatorClient(url, dataDir) }
  }
  const ready = waitUntilReady()
  // A caller may kill the process before it is ready and ignore `ready`. Its rejection must not be unhandled.
  ready.catch(() => undefined)
  return { ready, ended, kill: ownControls.kill }
}

const waitForAddress = (child: ChildProcess, output: () => string): Promise<string> =>
  waitUntil(
    'the address of the market',
    () => assertRunning(child, output) && /http:\/\/127\.0\.0\.1:\d+/.exec(output())?.[0],
    60_000,
    20,
  )

function assertRunning(child: ChildProcess, output: () => string): true {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the market exited before it was ready:\n${output()}`)
  return true
}

const isMarketReady = async (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    (response) => response.status === 200,
    () => false,
  )

function createControls(child: ChildProcess, ended: Product['ended']): Pick<Product, 'kill' | 'stop'> {
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

export const createOperatorClient =
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
    return answer as T // The caller gives the type.
  }
