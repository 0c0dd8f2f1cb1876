import { Fault } from '@penstock/kernel/result.ts'

const STOP_WITHIN_MS = 10_000

/**
 * Calls `close` on SIGTERM, SIGINT or SIGHUP. Then the process ends: with 0, or with 1 if `close` fails or takes too long.
 * A `Fault`, such as an absent server, still gives 0, because the next start recovers all unfinished work.
 * A second signal does not force an exit, because npm forwards a signal that the terminal has already sent.
 */
export function closeOnSignal(close: () => Promise<void>, withinMs = STOP_WITHIN_MS): void {
  let stopping = false
  const shutDown = (): void => {
    if (stopping) return
    stopping = true
    const timer = setTimeout(() => {
      console.error('A part of the process did not stop in time; the next start recovers its unfinished work.')
      process.exit(1)
    }, withinMs)
    void close().then(
      () => {
        clearTimeout(timer)
        process.exit(0)
      },
      (error: unknown) => {
        console.error(`Stopping failed: ${String(error)}`)
        process.exit(error instanceof Fault ? 0 : 1)
      },
    )
  }
  // The IPC channel closes when the launcher of this process ends.
  process.once('disconnect', shutDown)
  if (process.send !== undefined && !process.connected) shutDown()
  process.on('SIGTERM', shutDown)
  process.on('SIGINT', shutDown)
  // The terminal sends SIGHUP when it closes.
  process.on('SIGHUP', shutDown)
}
