import type { ServerHandler, SimulatedProcess } from '@penstock/adapters/deterministic/faults/crash-injection.ts'

/**
 * Tracks the disturbances of each process: a start, a freeze, and calls to servers that fail or are slow. A failing bus or lease
 * is no disturbance, because the guard needs neither.
 */
export type ActiveFaults = {
  /** @returns the process with its calls and freezes tracked */
  watchProcess(name: string, process: SimulatedProcess): SimulatedProcess
  /** @returns the simulated time in milliseconds at which the last disturbance ended, or the current time during a disturbance */
  undisturbedSinceMs(name: string): number
}

const SERVER_PREFIXES = ['chain.', 'lightning.', 'store.', 'sql.']
/** Whether a running server always answers this call. If it returns an error, the process is at fault and not disturbed. */
const isAnsweredWhenUp = (point: string): boolean =>
  point.startsWith('chain.') || point.startsWith('lightning.holds.') || point === 'lightning.info'
/** A call of more milliseconds disturbs its process. Most calls take at most 50 ms, and a few wait for a database lock. */
const SLOW_MS = 250

/** The longest delay in milliseconds before the retry of a failed write. The delays are doubled after each failure. */
const LONGEST_BACKOFF_MS = 5000

type ProcessFaults = {
  readonly process: SimulatedProcess
  readonly pending: Set<{ readonly sinceMs: number }>
  disturbedUntilMs: number
  /** For each kind of write, the time of its first failure since its last success. */
  readonly failingSinceMs: Map<string, number>
  /** Whether the guard has made its first call, after which the process counts as started. */
  hasGuardStarted: boolean
}

const GUARD_CALL = 'lightning.holds.held'
/** Whether the guard waits for retries of this write: each append of facts, and each commit during the start of the process. */
const isAwaited = (point: string, { hasGuardStarted }: ProcessFaults): boolean =>
  point === 'store.append' || (point === 'sql.commit' && !hasGuardStarted)

/** @param isNodeUp returns whether the market's own node is online */
export function createActiveFaults(now: () => number, isNodeUp: () => boolean): ActiveFaults {
  const states = new Map<string, ProcessFaults>()
  const isDisturbance = (point: string, isOwnFault: boolean): boolean =>
    SERVER_PREFIXES.some((server) => point.startsWith(server)) &&
    !(isOwnFault && isAnsweredWhenUp(point) && (point.startsWith('chain.') || isNodeUp()))
  const finishCall = (state: ProcessFaults, call: { readonly sinceMs: number }, hasFailed: boolean): void => {
    state.pending.delete(call)
    if (hasFailed || now() - call.sinceMs > SLOW_MS) state.disturbedUntilMs = Math.max(state.disturbedUntilMs, now())
  }
  // With doubled delays, a retry waits about as long as the write has failed so far. No call is pending during that delay.
  const trackWrite = (state: ProcessFaults, point: string, hasFailed: boolean): void => {
    if (!hasFailed) return void state.failingSinceMs.delete(point)
    const sinceMs = state.failingSinceMs.get(point) ?? now()
    state.failingSinceMs.set(point, sinceMs)
    state.disturbedUntilMs = Math.max(state.disturbedUntilMs, now() + Math.min(LONGEST_BACKOFF_MS, now() - sinceMs))
  }
  return {
    watchProcess(name, process) {
      const state: ProcessFaults = {
        process,
        pending: new Set(),
        disturbedUntilMs: now(),
        failingSinceMs: new Map(),
        hasGuardStarted: false,
      }
      states.set(name, state)
      return {
        ...process,
        freeze(ms) {
          state.disturbedUntilMs = now() + ms
          process.freeze(ms)
        },
        call(point, apply, options) {
          const call = { sinceMs: now() }
          state.hasGuardStarted ||= point === GUARD_CALL
          state.pending.add(call)
          const applied = trackFailure(apply)
          const answer = process.call(point, applied.apply, options)
          const finish = (hasFailed: boolean): void => {
            finishCall(state, call, hasFailed && isDisturbance(point, applied.hasFailed()))
            if (isAwaited(point, state)) trackWrite(state, point, hasFailed)
          }
          answer.then(
            () => finish(false),
            () => finish(true),
          )
          return answer
        },
      }
    },
    undisturbedSinceMs(name) {
      const state = states.get(name)
      if (!state?.process.isAlive()) return now()
      for (const { sinceMs } of state.pending) if (now() - sinceMs > SLOW_MS) return now()
      return state.disturbedUntilMs
    },
  }
}

/** Wraps the server's handler, to distinguish an error of the server from an injected failure of the connection. */
function trackFailure<T>(apply: ServerHandler<T>): { readonly apply: ServerHandler<T>; readonly hasFailed: () => boolean } {
  let hasFailed = false
  const markFailed = (): void => void (hasFailed = true)
  return {
    apply(lateMs) {
      try {
        const answer = apply(lateMs)
        if (answer instanceof Promise) answer.catch(markFailed)
        return answer
      } catch (error) {
        markFailed()
        throw error
      }
    },
    hasFailed: () => hasFailed,
  }
}
