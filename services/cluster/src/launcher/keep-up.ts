import { setTimeout as sleep } from 'node:timers/promises'
import type { Tell } from './child.ts'

export type Startable = {
  readonly pid: number | undefined
  start(): Promise<void>
  /** Of a server that waits for its users when it is told to stop, which they never do. */
  endIfStopping?(): Promise<void>
}

const LOOK_EVERY_MS = 250

/** Starts it again whenever it is gone, or was told by somebody else to go. */
export function keepUp(name: string, node: Startable, tell: Tell): { stop(): Promise<void> } {
  const over = new AbortController()
  const keeping = (async () => {
    while (!over.signal.aborted) {
      await sleep(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined) // stopped while it waits
      if (over.signal.aborted) continue
      if (node.pid !== undefined) await node.endIfStopping?.()
      if (node.pid !== undefined) continue
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
