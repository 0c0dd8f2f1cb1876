import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopProcess } from '@penstock/child-processes/stop.ts'
import { findUserCompileCache } from '@penstock/runtime/compile-cache.ts'
import { findFreePort, findPortFault } from '@penstock/servers/free-port.ts'
import { createHealthCheck, HEALTH_LIMITS, type HealthLimits } from './health.ts'
import type { PlannedProcess } from './plan.ts'

/** @param who a process, as in `order/1`, or a server */
export type PrintLine = (who: string, line: string) => void
type PrintOwnLine = (line: string) => void

/** A process that is restarted when it ends, and killed when it hangs, until it is stopped. */
export type SupervisedProcess = {
  readonly name: string
  readonly replica: number
  readonly pid: number | undefined
  readonly healthUrl: string
  /** Sends SIGTERM, and SIGKILL if the process does not stop in time. */
  stop(): Promise<void>
}

const RESTART_DELAY_MS = 200
const MAX_RESTART_DELAY_MS = 5000
/** A process that ran longer did not fail at its start, so the restart delay returns to its minimum. */
const STABLE_AFTER_MS = 10_000
const STOP_TIMEOUT_MS = 12_000
/**
 * V8 begins with 1 MiB for young objects, and then an idle service collects garbage about once a second. The image has the same
 * option.
 */
export const NODE_ARGUMENTS = ['--min-semi-space-size=8']
const READY_TIMEOUT_MS = 300_000
const POLL_MS = 200
const HANG_CHECK_MS = 1000
const ANSWER_TIMEOUT_MS = 2000

export function superviseProcess(
  planned: PlannedProcess,
  printLine: PrintLine,
  limits: HealthLimits = HEALTH_LIMITS,
): SupervisedProcess {
  const { name, replica } = planned
  const print: PrintOwnLine = (line) => printLine(`${name}/${replica}`, line)
  const stopping = new AbortController()
  let child: ChildProcess | undefined
  let current = planned

  const running = (async () => {
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      const began = performance.now()
      child = startOrReport(current, print)
      const end = child && (await waitForExit(child, current, limits, print))
      child = undefined
      if (stopping.signal.aborted) return
      if (performance.now() - began > STABLE_AFTER_MS) failures = 0
      print(end === undefined ? 'retrying' : `ended with ${end}; restarting`)
      const pause = Math.min(RESTART_DELAY_MS * 2 ** failures, MAX_RESTART_DELAY_MS)
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => undefined) // stopped while it waits
      current = await withFreeHealthPort(current, print)
    }
  })()
  return {
    name,
    replica,
    get healthUrl() {
      return healthUrlOf(current)
    },
    get pid() {
      return child?.pid
    },
    async stop() {
      stopping.abort()
      if (child) await stopProcess(child, 'SIGTERM', () => print('did not stop in time and is killed'), STOP_TIMEOUT_MS)
      await running
    },
  }
}

/** Chooses another health port if another program has taken the old port. Only the launcher uses health ports. */
async function withFreeHealthPort(planned: PlannedProcess, print: PrintOwnLine): Promise<PlannedProcess> {
  const port = planned.env['PENSTOCK_HEALTH_PORT']
  if (port === undefined || (await findPortFault(Number(port))) !== 'EADDRINUSE') return planned
  const freePort = `${await findFreePort()}`
  print(`its health port ${port} is taken by another program; using ${freePort}`)
  return { ...planned, env: { ...planned.env, PENSTOCK_HEALTH_PORT: freePort } }
}

/** @returns undefined if the machine lacks the resources to start the process now; the error is printed */
function startOrReport(planned: PlannedProcess, print: PrintOwnLine): ChildProcess | undefined {
  try {
    const child = startOnce(planned, print)
    return child.pid === undefined ? undefined : child
  } catch (error) {
    print(`could not be started: ${String(error)}`)
    return undefined
  }
}

/** Resolves only at the exit. A running process has error events too, for example when a signal cannot be sent. */
function waitForExit(child: ChildProcess, planned: PlannedProcess, limits: HealthLimits, print: PrintOwnLine): Promise<string> {
  const exited = new AbortController()
  if (planned.env['PENSTOCK_HEALTH_PORT'] !== undefined) void killIfHung(child, planned, limits, print, exited.signal)
  return new Promise((resolve) =>
    child.once('exit', (code, signal) => {
      exited.abort()
      resolve(signal ?? `exit code ${code}`)
    }),
  )
}

async function killIfHung(
  child: ChildProcess,
  planned: PlannedProcess,
  limits: HealthLimits,
  print: PrintOwnLine,
  exited: AbortSignal,
): Promise<void> {
  const target = { pid: child.pid, healthUrl: healthUrlOf(planned) }
  const ask = async () => {
    const state = await readProcessState(target, limits.answerMs)
    return state && (state.isReady ? 'ready' : 'starting')
  }
  const health = createHealthCheck(ask, limits)
  while (!exited.aborted) {
    await sleep(Math.min(limits.intervalMs, HANG_CHECK_MS), undefined, { signal: exited }).catch(() => undefined) // the process ended
    const hangReason = await health.check()
    if (hangReason === undefined || exited.aborted) continue
    print(hangReason)
    child.kill('SIGKILL')
    return
  }
}

const healthUrlOf = ({ env }: PlannedProcess): string => `http://127.0.0.1:${env['PENSTOCK_HEALTH_PORT']}`

/** Starts a process in its own process group, so that Ctrl-C reaches only the launcher, which stops processes in order. */
export function startOnce(
  { script, args, env }: Pick<PlannedProcess, 'script' | 'args' | 'env'>,
  print: PrintOwnLine,
): ChildProcess {
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, script, ...args], {
    // The launcher parses the JSON lines, and formats them for the terminal.
    env: { NODE_COMPILE_CACHE: findUserCompileCache(), ...process.env, ...env, PENSTOCK_LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  })
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', print)
  child.on('error', (error) => print(`${child.pid === undefined ? 'could not be started' : 'has a fault'}: ${error.message}`))
  return child
}

/** @throws Error if the process is not ready in time */
export async function waitUntilProcessReady(child: SupervisedProcess, stopping: AbortSignal): Promise<void> {
  for (const end = performance.now() + READY_TIMEOUT_MS; performance.now() < end;) {
    if ((await readProcessState(child))?.isReady === true) return
    stopping.throwIfAborted()
    await sleep(POLL_MS)
  }
  throw new Error(`${child.name}/${child.replica} is not ready after ${READY_TIMEOUT_MS / 1000} s; its log says why`)
}

type ProcessState = { readonly isReady: boolean; readonly handled: number }

/** Reads the state that a process reports; undefined if it does not answer, or if another process answers at its address. */
export async function readProcessState(
  { pid, healthUrl }: Pick<SupervisedProcess, 'pid' | 'healthUrl'>,
  withinMs = ANSWER_TIMEOUT_MS,
): Promise<ProcessState | undefined> {
  const get = (path: string) => fetch(`${healthUrl}${path}`, { signal: AbortSignal.timeout(withinMs) })
  try {
    const [ready, status] = await Promise.all([get('/readyz'), get('/status')])
    const about = (await status.json()) as { readonly pid: number; readonly handled: number } // every process answers this
    return about.pid === pid ? { isReady: ready.ok, handled: about.handled } : undefined
  } catch {
    return undefined
  }
}
