import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const DOUBLE_MAIN = new URL('./main.ts', import.meta.url)

/** Starts the test double in a separate process. Its log ends with the process, unless a file stores the log. */
export async function startDoubleProcess(file?: string): Promise<DoubleProcess> {
  const first = await forkDouble(file === undefined ? [] : ['--file', file])
  const { url } = first
  let { child } = first
  const port = new URL(url.replace('kurrentdb:', 'http:')).port
  const waitUntilExit = async (action: () => void): Promise<void> => {
    const ended = once(child, 'exit')
    action()
    await ended
  }
  return {
    url,
    pid: () => child.pid ?? 0,
    async killFor(ms) {
      await waitUntilExit(() => child.kill('SIGKILL'))
      await sleep(ms)
      ;({ child } = await forkDouble(['--port', port, ...(file === undefined ? [] : ['--file', file])]))
    },
    async pauseFor(ms) {
      child.kill('SIGSTOP')
      await sleep(ms)
      child.kill('SIGCONT')
    },
    restart: () => void child.kill('SIGUSR2'),
    stop: () => waitUntilExit(() => child.disconnect()),
  }
}

export type DoubleProcess = {
  readonly url: string
  pid(): number
  /** Kills the process with SIGKILL, and restarts it after `ms` milliseconds. */
  killFor(ms: number): Promise<void>
  /** Pauses the process for `ms` milliseconds, with its connections open. */
  pauseFor(ms: number): Promise<void>
  /** Closes every connection and listens again. */
  restart(): void
  stop(): Promise<void>
}

async function forkDouble(args: readonly string[]) {
  const child = fork(DOUBLE_MAIN, [...args])
  const [url] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown] // a URL or an exit code
  if (typeof url !== 'string') throw new Error('the double did not start')
  return { child, url }
}
