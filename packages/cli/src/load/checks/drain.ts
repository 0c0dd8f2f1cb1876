import { formatDuration } from '../../text-format.ts'
import { type LoadClock, processClock, sleepUntil } from '../load-clock.ts'
import { toKnownRequestError } from '../orders/order-scenario.ts'
import { classifyUnanswered } from '../market/request-error.ts'

/** The interval and the timeout of a minimal request, which shows whether the market still answers. */
const PROBE_INTERVAL_MS = 1000
const PROBE_TIMEOUT_MS = 15_000
/** The time limit for the end of a run that Ctrl-C has cut short. */
const INTERRUPTED_LIMIT_MS = 20_000
/** Unanswered requests in a row that stop the drain. One answer may be lost in transit. */
const MAX_UNANSWERED = 2

/** The drain is the end of a run: it resets the market and checks the results. A time limit or missing answers stop it. */
export type Drain = {
  /** Aborts the control requests when the drain stops. Control requests are the requests that are not part of the load. */
  readonly signal: AbortSignal
  /** The reason why no more requests are sent; null while they are allowed. */
  stopReason(): string | null
  /** Sends a request of the drain. Two unanswered requests in a row stop the drain. */
  call<T>(request: () => Promise<T>): Promise<T>
  /** Starts the load. From now on, Ctrl-C ends the orders but not the control requests. Before the load, Ctrl-C ends both. */
  startLoad(): void
  /** Starts the checks after the load. @param probe sends a minimal request with the given timeout */
  startChecks(limitMs: number, probe: (timeoutMs: number) => Promise<unknown>): void
  /** Ends the run: no more requests are sent. */
  stop(): void
}

export function openDrain(interrupt: AbortSignal, clock: LoadClock = processClock): Drain {
  const stopController = new AbortController()
  const stop = (reason: string): void => stopController.abort(reason)
  const onInterrupt = (): void => stop('Ctrl-C ended them')
  const listenForInterrupt = (): void => interrupt.addEventListener('abort', onInterrupt, { signal: stopController.signal })
  const createGuardedCall = () => {
    let unanswered = 0
    return async <T>(request: () => Promise<T>): Promise<T> => {
      try {
        const answer = await request()
        unanswered = 0
        return answer
      } catch (error) {
        // A request that finds no free connection counts too, because unanswered requests then occupy every connection.
        unanswered = classifyUnanswered(toKnownRequestError(error)) === undefined ? 0 : unanswered + 1
        if (unanswered >= MAX_UNANSWERED) stop(`the market did not answer ${MAX_UNANSWERED} times in a row`)
        throw error
      }
    }
  }
  const probeRegularly = async (probe: () => Promise<unknown>): Promise<void> => {
    const callProbe = createGuardedCall()
    while (await sleepUntil(clock, clock.monotonicMs() + PROBE_INTERVAL_MS, stopController.signal))
      await callProbe(probe).catch(toKnownRequestError)
  }
  listenForInterrupt()
  return {
    signal: stopController.signal,
    stopReason: () => (stopController.signal.aborted ? String(stopController.signal.reason) : null),
    call: createGuardedCall(),
    startLoad: () => interrupt.removeEventListener('abort', onInterrupt),
    startChecks(limitMs, probe) {
      if (stopController.signal.aborted) return
      const ms = interrupt.aborted ? INTERRUPTED_LIMIT_MS : limitMs
      // A drain that has stopped already keeps its reason.
      void clock.sleep(ms, stopController.signal).then(() => stop(`they took longer than ${formatDuration(ms)}`))
      listenForInterrupt()
      void probeRegularly(() => probe(PROBE_TIMEOUT_MS))
    },
    stop: () => stop('the run is over'),
  }
}
