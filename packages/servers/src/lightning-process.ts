import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { killWithParent } from './parent.ts'

const POLL_MS = 50
/** Both serve within seconds. What does not has lost its way at its start, on a busy machine, and is started again. */
const READY_MS = 30_000
const STARTS = 3
/** For one question whether it is ready: a connection that was made too early may never be answered. */
const ANSWER_MS = 5000
const STOP_MS = 15_000
const SAID_CHARS = 3000
/** lnd writes it at each look at its peers, and it would push everything else out. */
const SAID_TOO_OFTEN = /Gossip syncer for peer=\w+ not found/

export type Daemon = {
  /** Undefined while it does not run. */
  readonly pid: number | undefined
  /** With the same data on the same ports. It resolves when the program serves requests. */
  readonly start: () => Promise<void>
  /** SIGKILL: what a crash leaves. */
  readonly kill: () => Promise<void>
  /** SIGTERM, and SIGKILL for what does not stop in time. */
  readonly stop: () => Promise<void>
  /** The end of what it wrote. */
  readonly said: () => Promise<string>
}

/** @param isReady whether it serves requests; a rejection is a no */
export function daemon(
  name: string,
  program: string,
  dir: string,
  args: readonly string[],
  isReady: () => Promise<boolean>,
): Daemon {
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    for (let left = STARTS; ; left--) {
      try {
        return await startOnce()
      } catch (error) {
        // One that ended, or was ended, says why itself.
        const isSilent = child !== undefined
        await end('SIGKILL')
        if (!isSilent || left === 1) throw error
      }
    }
  }
  async function startOnce(): Promise<void> {
    if (child) throw new Error(`${name} runs already`)
    const started = await spawned(program, dir, args)
    child = started
    started.once('exit', () => {
      if (child === started) child = undefined
    })
    try {
      await until(
        `${name} is ready`,
        async () => started.exitCode !== null || started.signalCode !== null || (await soon(isReady())),
        READY_MS,
      )
      if (child !== started) throw new Error(`${name} ended (${started.signalCode ?? started.exitCode})`)
    } catch (error) {
      throw new Error(`${name} did not start:\n${await said()}`, { cause: error })
    }
  }
  const said = (): Promise<string> => endOf(join(dir, 'log'))
  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = child
    if (!ending) return
    const gone = once(ending, 'exit')
    ending.kill(signal)
    const late = setTimeout(() => ending.kill('SIGKILL'), STOP_MS)
    await gone
    clearTimeout(late)
  }
  return {
    get pid() {
      return child?.pid
    },
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    said,
  }
}

async function endOf(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
  return lines
    .filter((line) => !SAID_TOO_OFTEN.test(line))
    .join('\n')
    .slice(-SAID_CHARS)
}

async function spawned(program: string, dir: string, args: readonly string[]): Promise<ChildProcess> {
  await mkdir(dir, { recursive: true })
  const log = openSync(join(dir, 'log'), 'a')
  // HOME: both programs look for a configuration there, and one writes it.
  const started = spawn(program, args, {
    stdio: ['ignore', log, log],
    env: { PATH: process.env['PATH'], HOME: dir },
    // A Ctrl-C for the terminal's processes is not for it: who started it stops it in its turn.
    detached: true,
  })
  closeSync(log)
  await once(started, 'spawn')
  killWithParent(started, 'KILL')
  return started
}

async function soon(answer: Promise<boolean>): Promise<boolean> {
  const late = new AbortController()
  const silent = sleep(ANSWER_MS, false, { signal: late.signal }).catch(() => false)
  try {
    return await Promise.race([answer, silent])
  } finally {
    late.abort()
  }
}

/** Asks until there is something; what is thrown meanwhile counts as a no. @throws Error that says what never came, and why */
export async function until<T>(what: string, get: () => Promise<T | undefined | false>, timeoutMs = 60_000): Promise<T> {
  const end = performance.now() + timeoutMs
  // What is asked may be gone, and never answer.
  const late = sleep(timeoutMs, undefined, { ref: false })
  let cause: unknown
  for (;;) {
    try {
      const value = await Promise.race([get(), late])
      if (value !== undefined && value !== false) return value
    } catch (error) {
      cause = error
    }
    if (performance.now() > end) throw new Error(`never: ${what}`, { cause })
    await sleep(POLL_MS)
  }
}
