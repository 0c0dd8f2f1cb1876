/** Why a request brought nothing: a short code that can be counted, and the sentence of the first that it happened to. */
export class Trouble extends Error {
  override readonly name = 'Trouble'
  readonly code: string
  /** The market asks for a pause: of so long, or null where it does not say. */
  readonly pauseMs: number | null | undefined
  constructor(code: string, message: string, pauseMs?: number | null) {
    super(message)
    this.code = code
    this.pauseMs = pauseMs
  }
}

/** A limit of the market, which is no fault of anybody. */
export const isThrottle = (trouble: Trouble): boolean => trouble.pauseMs !== undefined

/** The request left, and no answer came. */
export const TIMED_OUT = 'time-out'
/** The request never left: every connection of this program was taken. */
export const UNSENT = 'not sent'

/** Why nobody answered. What was waited for in vain would have taken longer than the wait. */
export type Silence = 'timedOut' | 'unsent'

/** @returns undefined where there was an answer, or where the request was cut off */
export function silenceOf({ code }: Trouble): Silence | undefined {
  if (code === TIMED_OUT) return 'timedOut'
  return code === UNSENT ? 'unsent' : undefined
}
