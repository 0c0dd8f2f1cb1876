/** The failure of a request: a short code for counting, and a message. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly code: string
  /** The pause that the market requests; null if it gives no duration, undefined if it requests no pause. */
  readonly pauseMs: number | null | undefined
  constructor(code: string, message: string, pauseMs?: number | null) {
    super(message)
    this.code = code
    this.pauseMs = pauseMs
  }
}

/** Whether a limit of the market refused the request, which does not count as an error. */
export const isThrottled = (requestError: RequestError): boolean => requestError.pauseMs !== undefined

/** The request was sent, and no answer came in time. */
export const TIMED_OUT = 'time-out'
/** The request was never sent, because every connection of this program was in use. */
export const UNSENT = 'not sent'

/** The market is overloaded and refused the order. */
export const BUSY = 'busy'

/** The reason for a missing answer. The latency is then unknown, and longer than the wait for the answer. */
export type UnansweredReason = 'timedOut' | 'unsent'

/** @returns undefined if there was an answer, or if the connection failed */
export function classifyUnanswered({ code }: RequestError): UnansweredReason | undefined {
  if (code === TIMED_OUT) return 'timedOut'
  return code === UNSENT ? 'unsent' : undefined
}
