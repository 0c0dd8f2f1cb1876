import { systemClock } from '@penstock/adapters/system/clock.ts'
import { HEALTH_LIMITS } from '@penstock/cluster/launcher/health.ts'
import type { RunningProcess } from '@penstock/cluster/launcher/launch.ts'
import type { Clock } from '@penstock/ports/clock.ts'

const RETRY_INTERVAL_MS = 500
const ANSWER_TIMEOUT_MS = 5000
/** The launcher kills a process that hangs at its start after half of this time. The next process may take as long. */
const HEALTHY_TIMEOUT_MS = 2 * HEALTH_LIMITS.maxMissingAnswersAtStart * HEALTH_LIMITS.intervalMs

/**
 * Waits until every process is ready and every consumer group is stable.
 * @throws Error with the names of the processes that are not ready
 */
export async function waitUntilHealthy(
  processes: () => readonly RunningProcess[],
  areGroupsStable: () => Promise<boolean>,
  timeoutMs = HEALTHY_TIMEOUT_MS,
  clock: Clock = systemClock,
): Promise<void> {
  for (const end = clock.monotonicMs() + timeoutMs; ; await clock.sleep(RETRY_INTERVAL_MS)) {
    const unhealthy = await findUnhealthy(processes(), areGroupsStable, clock)
    if (unhealthy.length === 0) return
    if (clock.monotonicMs() > end)
      throw new Error(`${timeoutMs / 1000} s after the last fault these do not work: ${unhealthy.join(', ')}`)
  }
}

async function findUnhealthy(
  processes: readonly RunningProcess[],
  areGroupsStable: () => Promise<boolean>,
  clock: Clock,
): Promise<readonly string[]> {
  const answersInTime = (check: (over: AbortSignal) => Promise<boolean>) => runWithin(check, ANSWER_TIMEOUT_MS, false, clock)
  const processProblems = processes.map(async (one) => {
    const isProcessHealthy = one.pid !== undefined && (await answersInTime((over) => isHealthy(one, over)))
    return isProcessHealthy ? [] : [`${one.name} (${one.pid === undefined ? 'it does not run' : `process ${one.pid}`})`]
  })
  const findGroupProblems = async () => ((await answersInTime(areGroupsStable)) ? [] : ['consumer groups'])
  return (await Promise.all([...processProblems, findGroupProblems()])).flat()
}

async function isHealthy({ healthUrl, answers }: RunningProcess, over: AbortSignal): Promise<boolean> {
  if (healthUrl === undefined) return answers === undefined || answers()
  return (await fetch(`${healthUrl}/readyz`, { signal: over })).ok
}

/** Runs work with a timeout, and aborts the signal of the work at the end. @returns `fallback` if it times out or fails */
export async function runWithin<T>(
  work: (over: AbortSignal) => Promise<T>,
  timeoutMs: number,
  fallback: T,
  clock: Pick<Clock, 'sleep'> = systemClock,
): Promise<T> {
  const over = new AbortController()
  try {
    const timeout = clock.sleep(timeoutMs, over.signal).then(() => fallback)
    return await Promise.race([work(over.signal).catch(() => fallback), timeout])
  } finally {
    over.abort()
  }
}
