/** What was looked at in the end. `detail`: the figures where it holds, the first faults where it does not. */
export type Check = {
  readonly name: string
  readonly outcome: 'pass' | 'fail' | 'skipped'
  readonly detail: string
}

const SHOWN = 5

export const skipped = (name: string, why: string): Check => ({ name, outcome: 'skipped', detail: why })

/** @param faults sentences, one for each that does not hold */
export function judged(name: string, faults: readonly string[], figures: string): Check {
  if (faults.length === 0) return { name, outcome: 'pass', detail: figures }
  const more = faults.length > SHOWN ? [`and ${faults.length - SHOWN} more`] : []
  return { name, outcome: 'fail', detail: [...faults.slice(0, SHOWN), ...more].join('; ') }
}
