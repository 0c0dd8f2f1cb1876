import { fork } from 'node:child_process'
import { once } from 'node:events'

const MAIN = new URL('./main.ts', import.meta.url)

/** The double in a process of its own: it keeps everything until it is stopped. */
export async function startDouble(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const child = fork(MAIN)
  const gone = once(child, 'exit')
  const [url] = (await Promise.race([once(child, 'message'), gone])) as [unknown] // a url, or an exit code
  if (typeof url !== 'string') throw new Error('the double did not start')
  return {
    url,
    async stop() {
      child.disconnect()
      await gone
    },
  }
}
