import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopProcess } from '@penstock/child-processes/stop.ts'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'

const POLL_MS = 50
/** Both programs serve within seconds. On a busy machine a start can hang; the program is then started again. */
const READY_TIMEOUT_MS = 30_000
const MAX_STARTS = 3
/** Timeout of one readiness check. A connection that was made too early may never get an answer. */
const ANSWER_TIMEOUT_MS = 5000
const OUTPUT_LIMIT = 3000
/** lnd writes this line at each check of its peers. It would displace all other output. */
const NOISE = /Gossip syncer for peer=\w+ not found/

export type Daemon = {
  /** Undefined while the program does not run. */
  readonly pid: number | undefined
  /** Starts with the same data and ports. It resolves when the program serves requests; `signal` aborts the start. */
  readonly start: (signal?: AbortSignal) => Promise<void>
  /** SIGKILL: leaves the data as after a crash. */
  readonly kill: () => Promise<void>
  /** SIGTERM, then SIGKILL if the program does not stop in time. */
  readonly stop: () => Promise<void>
  /** Reads the end of the program's output. */
  readonly readOutput: () => Promise<string>
}

/** @param isReady whether the program serves requests; a rejection counts as not ready */
export function createDaemon(
  name: string,
  program: string,
  dir: string,
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Daemon {
  let child: ChildProcess | undefined

  async function start(signal?: AbortSignal): Promise<void> {
    for (let triesLeft = MAX_STARTS; ; triesLeft--) {
      signal?.throwIfAborted()
      try {
        return await startOnce(signal)
      } catch (error) {
        // A program that has ended is not started again, because its output has the reason.
        const isHanging = child !== undefined
        await end('SIGKILL')
        if (!isHanging || triesLeft === 1) throw error
      }
    }
  }
  async function startOnce(signal?: AbortSignal): Promise<void> {
    if (child) throw new Error(`${name} runs already`)
    const started = await spawnDaemon(program, dir, args)
    child = started
    started.once('exit', () => {
      if (child === started) child = undefined
    })
    try {
      await waitForResult(
        `${name} is ready`,
        async () =>
          signal?.aborted || started.exitCode !== null || started.signalCode !== null || (await answerInTime(isReady())),
        READY_TIMEOUT_MS,
      )
      signal?.throwIfAborted()
      if (child !== started) throw new Error(`${name} ended (${started.signalCode ?? started.exitCode})`)
    } catch (error) {
      throw new Error(`${name} did not start:\n${await readOutput()}`, { cause: error })
    }
  }
  const readOutput = (): Promise<string> => readTail(join(dir, 'log'))
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => child && stopProcess(child, signal)
  return {
    get pid() {
      return child?.pid
    },
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    readOutput,
  }
}

async function readTail(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
  return lines
    .filter((line) => !NOISE.test(line))
    .join('\n')
    .slice(-OUTPUT_LIMIT)
}

async function spawnDaemon(program: string, dir: string, args: readonly string[]): Promise<ChildProcess> {
  await mkdir(dir, { recursive: true })
  const log = openSync(join(dir, 'log'), 'a')
  // HOME: both programs read a configuration there, and one of them writes it.
  const started = spawn(program, args, {
    stdio: ['ignore', log, log],
    env: { PATH: process.env['PATH'], HOME: dir },
    // A Ctrl-C in the terminal must not reach the program, because its parent stops the programs in order.
    detached: true,
  })
  closeSync(log)
  await once(started, 'spawn')
  killWithParent(started, 'KILL')
  return started
}

async function answerInTime(answer: Promise<boolean>): Promise<boolean> {
  const timerAbort = new AbortController()
  const timeout = sleep(ANSWER_TIMEOUT_MS, false, { signal: timerAbort.signal }).catch(() => false)
  try {
    return await Promise.race([answer, timeout])
  } finally {
    timerAbort.abort()
  }
}

/** Polls `get` until it has a value. Errors count as no value. @throws Error after the timeout, with `what` and the last cause */
export async function waitForResult<T>(what: string, get: () => Promise<T | undefined | false>, timeoutMs = 180_000): Promise<T> {
  const end = performance.now() + timeoutMs
  // `get` may never resolve if the program has ended.
  const timeout = sleep(timeoutMs, undefined, { ref: false })
  let cause: unknown
  for (;;) {
    try {
      const value = await Promise.race([get(), timeout])
      if (value !== undefined && value !== false) return value
    } catch (error) {
      cause = error
    }
    if (performance.now() > end) throw new Error(`never: ${what}`, { cause })
    await sleep(POLL_MS)
  }
}
