import type { ChildProcess } from 'node:child_process'

const STOP_WITHIN_MS = 15_000

/**
 * Sends a signal to a child, and SIGKILL if it has not ended in time. The call resolves when the process has exited; an
 * error event does not count as the end.
 * @param onTimeout called before the SIGKILL
 */
export async function stopProcess(
  child: ChildProcess,
  signal: NodeJS.Signals,
  onTimeout: () => void = () => undefined,
  withinMs = STOP_WITHIN_MS,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  const timer = setTimeout(() => {
    onTimeout()
    child.kill('SIGKILL')
  }, withinMs)
  await exit
  clearTimeout(timer)
}
