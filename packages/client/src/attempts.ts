import { isPenstockError, PenstockError } from './errors.ts'

/** Waits, or rejects with the reason of the signal. */
export type Delay = (ms: number, signal: AbortSignal | undefined) => Promise<void>

export type AttemptOptions = {
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly delay: Delay
  /** A number from 0 to 1, so that clients that failed together do not come back together. */
  readonly random: () => number
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 8000
/** A longer pause is left to the caller. */
const LONGEST_RETRY_AFTER_SECONDS = 60

/** A timer with a longer time fires at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** Runs attempts until one succeeds, a failure is final, or `maxRetries` further attempts have failed. */
export async function runAttempts<T>(attempt: (signal: AbortSignal) => Promise<T>, options: AttemptOptions): Promise<T> {
  for (let failures = 0; ; failures++)
    try {
      return await runWithTimeout(attempt, options)
    } catch (error) {
      const waitMs = failures < options.maxRetries ? chooseWait(error, failures, options.random()) : undefined
      if (waitMs === undefined) throw error
      await options.delay(waitMs, options.signal)
    }
}

/** @returns undefined if another attempt would not help */
function chooseWait(error: unknown, failures: number, random: number): number | undefined {
  if (!isPenstockError(error) || !isTransient(error)) return undefined
  const { retryAfterSeconds = 0 } = error
  if (retryAfterSeconds > LONGEST_RETRY_AFTER_SECONDS) return undefined
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS) * (0.5 + random / 2)
  return Math.max(retryAfterSeconds * 1000, backoffMs)
}

function isTransient({ code, errors }: PenstockError): boolean {
  switch (code) {
    case 'INTERNAL_SERVER_ERROR':
    case 'RATE_LIMITED':
    case 'NETWORK_ERROR':
    case 'TIMEOUT':
      return true
    case 'GRAPHQL_VALIDATION_FAILED':
      // An earlier attempt with the same idempotency key has not ended yet.
      return errors[0]?.message === 'A request with this idempotency_key is already in progress'
    case 'UNAUTHENTICATED':
    case 'FORBIDDEN':
    case 'INVALID_RESPONSE':
      return false
  }
}

async function runWithTimeout<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  { signal, delay, ...options }: AttemptOptions,
): Promise<T> {
  const timeoutMs = Math.min(options.timeoutMs, LONGEST_TIMEOUT_MS)
  signal?.throwIfAborted()
  const [stop, ended] = [new AbortController(), new AbortController()]
  const stopped = new Promise<never>((_, reject) => {
    const end = (reason: unknown): void => {
      // The reason of a signal may be any value, and the caller expects this one.
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      reject(reason)
      stop.abort(reason)
    }
    signal?.addEventListener('abort', () => end(signal.reason), { signal: ended.signal })
    delay(timeoutMs, ended.signal).then(
      () => end(new PenstockError('TIMEOUT', `no whole answer came within ${timeoutMs} ms`)),
      () => undefined, // The attempt has ended.
    )
  })
  try {
    return await Promise.race([attempt(stop.signal), stopped])
  } finally {
    ended.abort()
  }
}

export const delayByTimer: Delay = (ms, signal) =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as above
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
