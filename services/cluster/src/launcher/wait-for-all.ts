import type { PrintLine } from './process-supervisor.ts'

const REPORT_EVERY_MS = 5000

/** Prints the names of the pending promises, at once and at intervals, until all resolve. @throws the first error */
export async function waitForAll(
  promises: Readonly<Record<string, Promise<unknown>>>,
  printLine: PrintLine,
  everyMs = REPORT_EVERY_MS,
): Promise<void> {
  const left = new Set(Object.keys(promises))
  const say = (): void => printLine('launcher', `waits for ${[...left].join(', ')}`)
  const pending = Object.entries(promises).map(([name, promise]) => promise.finally(() => left.delete(name)))
  const timer = setInterval(say, everyMs)
  say()
  try {
    await Promise.all(pending)
  } finally {
    clearInterval(timer)
  }
}
