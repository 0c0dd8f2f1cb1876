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
