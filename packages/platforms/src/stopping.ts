import { Fault } from '@penstock/kernel/result.ts'

const STOP_WITHIN_MS = 10_000

/**
 * Closes on SIGTERM, SIGINT or SIGHUP and ends the process: with 0, or with 1 where something did not stop. A server that is away
 * meanwhile is no reason: nothing is kept for the end that the next start does not find by itself. npm forwards a signal
 * that the terminal has sent already, so the second one is no order to quit at once.
 */
export function onceSignalled(close: () => Promise<void>, withinMs = STOP_WITHIN_MS): void {
  let stopping = false
  const end = (): void => {
    if (stopping) return
    stopping = true
    const late = setTimeout(() => {
      console.error('Something did not stop in time; what was in hand is taken up at the next start.')
      process.exit(1)
    }, withinMs)
    void close().then(
      () => {
        clearTimeout(late)
        process.exit(0)
      },
      (error: unknown) => {
        console.error(`Stopping failed: ${String(error)}`)
        process.exit(error instanceof Fault ? 0 : 1)
      },
    )
  }
  // Who was started by a launcher does not outlive it.
  process.once('disconnect', end)
  if (process.send !== undefined && !process.connected) end()
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  // A terminal that is closed.
  process.on('SIGHUP', end)
}
