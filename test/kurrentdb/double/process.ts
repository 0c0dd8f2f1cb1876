import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const MAIN = new URL('./main.ts', import.meta.url)

/** The double in a process of its own: it keeps everything until it is stopped; with a file also through its death. */
export async function startDouble(file?: string): Promise<DoubleProcess> {
  const first = await begin(file === undefined ? [] : ['--file', file])
  const { url } = first
  let { child } = first
  const port = new URL(url.replace('kurrentdb:', 'http:')).port
  const gone = async (act: () => void): Promise<void> => {
    const ended = once(child, 'exit')
    act()
    await ended
  }
  return {
    url,
    pid: () => child.pid ?? 0,
    async killFor(ms) {
      await gone(() => child.kill('SIGKILL'))
      await sleep(ms)
      ;({ child } = await begin(['--port', port, ...(file === undefined ? [] : ['--file', file])]))
    },
    async pauseFor(ms) {
      child.kill('SIGSTOP')
      await sleep(ms)
      child.kill('SIGCONT')
    },
    restart: () => void child.kill('SIGUSR2'),
    stop: () => gone(() => child.disconnect()),
  }
}

export type DoubleProcess = {
  readonly url: string
  pid(): number
  /** Ends it as a power cut does, and starts it again after so long. */
  killFor(ms: number): Promise<void>
  /** It stands still for so long, with its connections open. */
  pauseFor(ms: number): Promise<void>
  /** Breaks every connection off and listens again. */
  restart(): void
  stop(): Promise<void>
}

async function begin(args: readonly string[]) {
  const child = fork(MAIN, [...args])
  const [url] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown] // a url, or an exit code
  if (typeof url !== 'string') throw new Error('the double did not start')
  return { child, url }
}
