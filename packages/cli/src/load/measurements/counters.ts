import { BUSY, isThrottled, type RequestError, UNSENT } from '../market/request-error.ts'

export type ErrorCount = { readonly where: string; readonly code: string; readonly count: number; readonly first: string }

export type LoadCounts = {
  /** Orders that were due. */
  arrived: number
  /** Due orders that were not started, because too many were in flight. */
  shed: number
  /** Due orders that were not placed, because the market requested a pause at this order or an earlier order. */
  held: number
  /** Due polls without a result, because the market requested a pause at this poll or an earlier poll. */
  unasked: number
  placed: number
  /** Orders that the market refused because it was busy. */
  refused: number
  /** Requests that were sent. */
  requests: number
  /** Requests that were never sent, because none of this program's connections was free in time. They are errors, too. */
  unsent: number
  /** Answers by which the market requested a pause. */
  throttles: number
  errors: number
}

/** The counters of a run, and its errors by request kind and code. */
export type LoadCounters = LoadCounts & {
  counts(): LoadCounts
  /** @returns whether the market requested a pause, which does not count as an error */
  recordError(where: string, requestError: RequestError): boolean
  errorCounts(): readonly ErrorCount[]
}

export function createLoadCounters(): LoadCounters {
  const counts = new Map<string, { where: string; code: string; count: number; first: string }>()
  return {
    counts() {
      const { arrived, shed, held, unasked, placed, refused, requests, unsent, throttles, errors } = this
      return { arrived, shed, held, unasked, placed, refused, requests, unsent, throttles, errors }
    },
    arrived: 0,
    shed: 0,
    held: 0,
    unasked: 0,
    placed: 0,
    refused: 0,
    requests: 0,
    unsent: 0,
    throttles: 0,
    errors: 0,
    recordError(where, requestError) {
      if (isThrottled(requestError)) {
        this.throttles++
        return true
      }
      // A request that the end of the run aborted is not an error.
      if (requestError.code === 'stopped') return false
      if (requestError.code === BUSY) {
        this.refused++
        return false
      }
      this.errors++
      if (requestError.code === UNSENT) this.unsent++
      const key = `${where} ${requestError.code}`
      const entry = counts.get(key) ?? { where, code: requestError.code, count: 0, first: requestError.message }
      entry.count++
      counts.set(key, entry)
      return false
    },
    errorCounts: () => [...counts.values()].map((entry) => ({ ...entry })).toSorted((a, b) => b.count - a.count),
  }
}
