import { setTimeout as sleep } from 'node:timers/promises'
import { HEALTH_LIMITS } from '@penstock/cluster/launcher/health.ts'
import type { RunningProcess } from '@penstock/cluster/launcher/launch.ts'

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
): Promise<void> {
  for (const end = performance.now() + timeoutMs; ; await sleep(RETRY_INTERVAL_MS)) {
    const unhealthy = await findUnhealthy(processes(), areGroupsStable)
    if (unhealthy.length === 0) return
    if (performance.now() > end)
      throw new Error(`${timeoutMs / 1000} s after the last fault these do not work: ${unhealthy.join(', ')}`)
  }
}

async function findUnhealthy(
  processes: readonly RunningProcess[],
  areGroupsStable: () => Promise<boolean>,
): Promise<readonly string[]> {
  const processProblems = processes.map(async (one) => {
    const isProcessHealthy = one.pid !== undefined && (await withTimeout(isHealthy(one), ANSWER_TIMEOUT_MS, false))
    return isProcessHealthy ? [] : [`${one.name} (${one.pid === undefined ? 'it does not run' : `process ${one.pid}`})`]
  })
  const findGroupProblems = async () =>
    (await withTimeout(areGroupsStable(), ANSWER_TIMEOUT_MS, false)) ? [] : ['consumer groups']
  return (await Promise.all([...processProblems, findGroupProblems()])).flat()
}

async function isHealthy({ healthUrl, answers }: RunningProcess): Promise<boolean> {
  if (healthUrl === undefined) return answers === undefined || answers()
  return (await fetch(`${healthUrl}/readyz`, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })).ok
}

/** Runs work with a timeout, and aborts the signal of the work at the end. @returns `fallback` if it times out or fails */
export async function runWithin<T>(work: (over: AbortSignal) => Promise<T>, timeoutMs: number, fallback: T): Promise<T> {
  const over = new AbortController()
  try {
    return await withTimeout(work(over.signal), timeoutMs, fallback)
  } finally {
    over.abort()
  }
}

/** @returns `fallback` if the work times out or fails */
const withTimeout = <T>(work: Promise<T>, timeoutMs: number, fallback: T): Promise<T> =>
  Promise.race([work.catch(() => fallback), sleep(timeoutMs, fallback, { ref: false })])
