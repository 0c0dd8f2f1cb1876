/** The result of one check after the run. `detail`: the figures if it passes, the first faults if it fails. */
export type LoadCheckResult = {
  readonly name: string
  readonly outcome: 'pass' | 'fail' | 'skipped'
  readonly detail: string
}

const MAX_SHOWN_FAULTS = 5

export const skipCheck = (name: string, reason: string): LoadCheckResult => ({ name, outcome: 'skipped', detail: reason })

/** @param faults one sentence per violation */
export function concludeCheck(name: string, faults: readonly string[], figures: string): LoadCheckResult {
  if (faults.length === 0) return { name, outcome: 'pass', detail: figures }
  const more = faults.length > MAX_SHOWN_FAULTS ? [`and ${faults.length - MAX_SHOWN_FAULTS} more`] : []
  return { name, outcome: 'fail', detail: [...faults.slice(0, MAX_SHOWN_FAULTS), ...more].join('; ') }
}
