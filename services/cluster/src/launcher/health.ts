/** The limits above which a process without answers counts as hanging. */
export type HealthLimits = {
  /** Milliseconds from the start of one check to the start of the next. */
  readonly intervalMs: number
  /** The timeout of one answer. */
  readonly answerMs: number
  /** Missing answers in a row of a process that has been ready. A time limit would also run while the launcher is suspended. */
  readonly maxMissingAnswers: number
  /** Missing answers in a row of a starting process. */
  readonly maxMissingAnswersAtStart: number
}

/** The limits are longer than the pause of a machine that swaps or migrates, and than a start on a busy machine. */
export const HEALTH_LIMITS: HealthLimits = {
  intervalMs: 5000,
  answerMs: 5000,
  maxMissingAnswers: 12,
  maxMissingAnswersAtStart: 36,
}

export type HealthCheck = {
  /** Whether the last check was answered. */
  readonly isHealthy: boolean
  /** Checks the process if a check is due. @returns the reason to kill it, as the predicate of a sentence */
  check(): Promise<string | undefined>
}

type Answer = 'ready' | 'starting' | undefined

/**
 * Checks a process from one start to its end.
 * @param ask asks the process; undefined, a rejection and a promise that stays pending are missing answers
 * @param wasReady whether the process was ready before the first check
 */
export function createHealthCheck(ask: () => Promise<Answer>, limits: HealthLimits, wasReady = false): HealthCheck {
  const { intervalMs, answerMs, maxMissingAnswers, maxMissingAnswersAtStart } = limits
  let due = performance.now() + intervalMs
  let [isHealthy, hasBeenReady, silentChecks] = [wasReady, wasReady, 0]
  return {
    get isHealthy() {
      return isHealthy
    },
    async check() {
      if (performance.now() < due) return undefined
      due = performance.now() + intervalMs
      const answer = await answerWithin(ask, answerMs)
      isHealthy = answer !== undefined
      if (answer === 'ready') hasBeenReady = true
      silentChecks = isHealthy ? 0 : silentChecks + 1
      const most = hasBeenReady ? maxMissingAnswers : maxMissingAnswersAtStart
      return silentChecks < most ? undefined : `has not answered ${silentChecks} times in a row; it hangs and is killed`
    },
  }
}

async function answerWithin(ask: () => Promise<Answer>, answerMs: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, answerMs, undefined)))
  const answer = await Promise.race([ask().catch(() => undefined), silence])
  clearTimeout(timer)
  return answer
}
