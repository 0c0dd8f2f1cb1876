import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
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

export function keepRunning(planned: Planned, tell: Tell): Child {
  const { name, replica, env } = planned
  const say = (line: string): void => tell(`${name}/${replica}  ${line}`)
  const over = new AbortController()
  let child: ChildProcess | undefined

  const running = (async () => {
    for (let failures = 0; !over.signal.aborted; failures++) {
      const began = Date.now()
      child = begun(planned, say)
      const end = child && (await ended(child))
      child = undefined
      if (over.signal.aborted) return
      if (Date.now() - began > STARTED_MS) failures = 0
      say(end === undefined ? 'it is tried again' : `ended with ${end}; it is started again`)
      const pause = Math.min(AGAIN_AFTER_MS * 2 ** failures, AGAIN_AT_MOST_AFTER_MS)
      await sleep(pause, undefined, { signal: over.signal }).catch(() => undefined) // stopped while it waits
    }
  })()
  return {
    name,
    replica,
    healthUrl: `http://127.0.0.1:${env['PENSTOCK_HEALTH_PORT']}`,
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
  for (const end = Date.now() + READY_WITHIN_MS; Date.now() < end;) {
    const answer = await fetch(`${child.healthUrl}/readyz`).catch(() => undefined)
    if (answer?.ok === true) return
    over.throwIfAborted()
    await sleep(LOOK_EVERY_MS)
  }
  throw new Error(`${child.name}/${child.replica} is not ready after ${READY_WITHIN_MS / 1000} s; its log says why`)
}
