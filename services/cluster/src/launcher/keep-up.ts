import { setTimeout as sleep } from 'node:timers/promises'
import type { Tell } from './child.ts'

export type Startable = { readonly pid: number | undefined; start(): Promise<void> }

const LOOK_EVERY_MS = 250

/** Starts it again whenever it is gone. */
export function keepUp(name: string, node: Startable, tell: Tell): { stop(): Promise<void> } {
  const over = new AbortController()
  const keeping = (async () => {
    while (!over.signal.aborted) {
      await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined) // stopped while it waits
      if (over.signal.aborted || node.pid !== undefined) continue
      tell(`${name}  ended; it is started again`)
      await node.start().catch((error: unknown) => tell(`${name}  could not be started: ${String(error)}`))
    }
  })()
  return {
    async stop() {
      over.abort()
      await keeping
    },
  }
}
