import { isThrottle, type Trouble, UNSENT } from './trouble.ts'

export type ErrorCount = { readonly where: string; readonly code: string; readonly count: number; readonly first: string }

export type Counts = {
  /** Orders that were due. */
  arrived: number
  /** Not begun, since too many were under way. */
  shed: number
  /** Not placed, since the market asked for a pause: at this order, or at one before it. */
  held: number
  /** Beats on which a buyer learnt nothing, since the market asked for a pause: at this beat, or at one before it. */
  unasked: number
  placed: number
  /** Requests that left. */
  requests: number
  /** Requests that never left, since none of this program's connections was free in time. They are errors, too. */
  unsent: number
  /** Answers by which the market asked for a pause. */
  throttles: number
  errors: number
}

/** What is counted beside the latencies. */
export type Tally = Counts & {
  counts(): Counts
  /** @returns whether it was a limit of the market, which is no error */
  note(where: string, trouble: Trouble): boolean
  errorCounts(): readonly ErrorCount[]
}

export function openTally(): Tally {
  const counts = new Map<string, { where: string; code: string; count: number; first: string }>()
  return {
    counts() {
      const { arrived, shed, held, unasked, placed, requests, unsent, throttles, errors } = this
      return { arrived, shed, held, unasked, placed, requests, unsent, throttles, errors }
    },
    arrived: 0,
    shed: 0,
    held: 0,
    unasked: 0,
    placed: 0,
    requests: 0,
    unsent: 0,
    throttles: 0,
    errors: 0,
    note(where, trouble) {
      if (isThrottle(trouble)) {
        this.throttles++
        return true
      }
      // What Ctrl-C broke off is nobody's fault.
      if (trouble.code === 'stopped') return false
      this.errors++
      if (trouble.code === UNSENT) this.unsent++
      const key = `${where} ${trouble.code}`
      const entry = counts.get(key) ?? { where, code: trouble.code, count: 0, first: trouble.message }
      entry.count++
      counts.set(key, entry)
      return false
    },
    errorCounts: () => [...counts.values()].map((entry) => ({ ...entry })).toSorted((a, b) => b.count - a.count),
  }
}
