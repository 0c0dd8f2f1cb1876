import { setTimeout as sleep } from 'node:timers/promises'
import type { PrintLine } from './process-supervisor.ts'
import { type HealthCheck, createHealthCheck, HEALTH_LIMITS, type HealthLimits } from './health.ts'

/** A server that `superviseServer` can start, check and stop. */
export type Startable = {
  readonly pid: number | undefined
  /** Resolves when the server is ready. Rejects if it is not ready within its own timeout, or has ended. */
  start(stopping: AbortSignal): Promise<void>
  /** Whether the server answers; the promise may stay pending. */
  answers(): Promise<boolean>
  kill(): Promise<void>
  /** Sends SIGTERM, and SIGKILL if the server does not stop in time. */
  stop(): Promise<void>
  /** Ends a server that received a stop signal and waits without limit for its clients to disconnect. */
  endIfStopping?(): Promise<void>
}

export type SupervisedServer = {
  readonly state: 'running' | 'starting' | 'down'
  /** Stops the supervision and the server, even if the server is just starting. */
  stop(): Promise<void>
}

const POLL_MS = 1000

/** Restarts a running server if it has ended, received a stop signal from another program, or no longer answers. */
export function superviseServer(
  name: string,
  node: Startable,
  printLine: PrintLine,
  limits: HealthLimits = HEALTH_LIMITS,
): SupervisedServer {
  const stopping = new AbortController()
  const startHealthCheck = (): HealthCheck =>
    createHealthCheck(async () => ((await node.answers()) ? 'ready' : undefined), limits, true)
  let health: HealthCheck | undefined = startHealthCheck()
  const supervising = (async () => {
    while (!stopping.signal.aborted) {
      await sleep(Math.min(limits.intervalMs, POLL_MS), undefined, { signal: stopping.signal }).catch(() => undefined) // stopped while it waits
      if (stopping.signal.aborted) continue
      if (node.pid !== undefined) await node.endIfStopping?.()
      const hangReason = node.pid === undefined ? undefined : await health?.check()
      // A server that was stopped during the check does not answer, which is no fault.
      if (stopping.signal.aborted) continue
      if (hangReason !== undefined) {
        printLine(name, hangReason)
        await node.kill()
      }
      if (node.pid !== undefined || stopping.signal.aborted) continue
      health = undefined
      printLine(name, 'ended; restarting')
      await node.start(stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted) printLine(name, `could not be started: ${String(error)}`)
      })
      health = startHealthCheck()
    }
  })()
  return {
    get state() {
      if (node.pid === undefined) return 'down'
      return health?.isHealthy === true ? 'running' : 'starting'
    },
    async stop() {
      stopping.abort()
      await Promise.all([supervising, node.stop()])
      // The supervision may have started the server again during the first stop.
      await node.stop()
    },
  }
}
