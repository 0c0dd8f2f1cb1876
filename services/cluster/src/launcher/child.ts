import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, portFault } from '@penstock/servers/free-port.ts'
import type { Planned } from './plan.ts'

export type Tell = (line: string) => void

/** A process that is started again when it ends, until it is stopped. */
export type Child = {
  readonly name: string
  readonly replica: number
  readonly pid: number | undefined
  readonly healthUrl: string
  /** SIGTERM, and SIGKILL for what does not stop in time. */
  stop(): Promise<void>
}

const AGAIN_AFTER_MS = 200
const AGAIN_AT_MOST_AFTER_MS = 5000
/** What ran so long did not fail at its start. */
const STARTED_MS = 10_000
const STOP_WITHIN_MS = 12_000
const READY_WITHIN_MS = 300_000
const LOOK_EVERY_MS = 200
const PATIENCE_MS = 2000

export function keepRunning(planned: Planned, tell: Tell): Child {
  const { name, replica } = planned
  const say = (line: string): void => tell(`${name}/${replica}  ${line}`)
  const over = new AbortController()
  let child: ChildProcess | undefined
  let now = planned

  const running = (async () => {
    for (let failures = 0; !over.signal.aborted; failures++) {
      const began = performance.now()
      child = begun(now, say)
      const end = child && (await ended(child))
      child = undefined
      if (over.signal.aborted) return
      if (performance.now() - began > STARTED_MS) failures = 0
      say(end === undefined ? 'it is tried again' : `ended with ${end}; it is started again`)
      const pause = Math.min(AGAIN_AFTER_MS * 2 ** failures, AGAIN_AT_MOST_AFTER_MS)
      await sleep(pause, undefined, { signal: over.signal }).catch(() => undefined) // stopped while it waits
      now = await withFreeHealth(now, say)
    }
  })()
  return {
    name,
    replica,
    get healthUrl() {
      return `http://127.0.0.1:${now.env['PENSTOCK_HEALTH_PORT']}`
    },
    get pid() {
      return child?.pid
    },
    async stop() {
      over.abort()
      child?.kill('SIGTERM')
      const late = setTimeout(() => {
        say('did not stop in time and is killed')
        child?.kill('SIGKILL')
      }, STOP_WITHIN_MS)
      await running
      clearTimeout(late)
    },
  }
}

/** Its port may have been taken by somebody else while it did not run, and nobody but the launcher needs to know it. */
async function withFreeHealth(planned: Planned, say: Tell): Promise<Planned> {
  const port = planned.env['PENSTOCK_HEALTH_PORT']
  if (port === undefined || (await portFault(Number(port))) !== 'EADDRINUSE') return planned
  const other = `${await freePort()}`
  say(`its port ${port} for operators is taken by another program; it gets ${other}`)
  return { ...planned, env: { ...planned.env, PENSTOCK_HEALTH_PORT: other } }
}

/** @returns undefined where it could not be started, which is said: the machine has no room for it now */
function begun(planned: Planned, say: Tell): ChildProcess | undefined {
  try {
    const child = startOnce(planned, say)
    return child.pid === undefined ? undefined : child
  } catch (error) {
    say(`could not be started: ${String(error)}`)
    return undefined
  }
}

/** By its exit alone: an error of a process that runs, as of a signal that could not be sent, is no end. */
const ended = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`)))

/** In a process group of its own: a Ctrl-C for the terminal's group is the launcher's to pass on, in its order. */
export function startOnce({ script, args, env }: Pick<Planned, 'script' | 'args' | 'env'>, say: Tell): ChildProcess {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  })
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', say)
  child.on('error', (error) => say(`${child.pid === undefined ? 'could not be started' : 'has a fault'}: ${error.message}`))
  return child
}

/** @throws Error where it does not take work in time */
export async function ready(child: Child, over: AbortSignal): Promise<void> {
  for (const end = performance.now() + READY_WITHIN_MS; performance.now() < end;) {
    if ((await stateOf(child))?.isReady === true) return
    over.throwIfAborted()
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error(`${child.name}/${child.replica} is not ready after ${READY_WITHIN_MS / 1000} s; its log says why`)
}

type State = { readonly isReady: boolean; readonly handled: number }

/** What a process says of itself; undefined where it does not answer, or another one does in its place. */
export async function stateOf({ pid, healthUrl }: Pick<Child, 'pid' | 'healthUrl'>): Promise<State | undefined> {
  const look = (path: string) => fetch(`${healthUrl}${path}`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  try {
    const [ready, status] = await Promise.all([look('/readyz'), look('/status')])
    const about = (await status.json()) as { readonly pid: number; readonly handled: number } // what every process answers
    return about.pid === pid ? { isReady: ready.ok, handled: about.handled } : undefined
  } catch {
    return undefined
  }
}
