/** Fields that differ between tries. The other fields identify the subject of a line. */
const IGNORED_FIELDS = new Set(['reason', 'error', 'stack', 'height', 'left', 'tries', 'known', 'trace'])
const VARIABLE_PARTS = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64,66}|\b\d+\b/g

/** Milliseconds without the failure after which the operation counts as recovered. */
const RECOVERED_AFTER_MS = 60_000
/** Milliseconds between two lines about a failure that does not end. */
const REMIND_EVERY_MS = 600_000
const MAX_KEYS = 2000

/**
 * Reduces an outage to one line per subject and cause, whatever the number of loops and tries. A fault comes from the outside
 * world, so its cause alone counts; the subject of any other failure is its stream, order or job.
 * @param now milliseconds of a monotonic clock
 */
export function createRepeatFilter(now: () => number) {
  const failures = new Map<string, { loggedAt: number; lastAt: number; repeats: number }>()

  function forget(at: number): void {
    for (const [key, { lastAt }] of failures)
      if (at - lastAt > RECOVERED_AFTER_MS || failures.size > MAX_KEYS) failures.delete(key)
  }

  /** @returns the fields to add to the line; undefined if the line is a repetition */
  return (bound: object, fields: object, text: string): { readonly repeats?: number } | undefined => {
    const key = repeatKey({ ...bound, ...fields }, text)
    if (key === undefined) return {}
    const at = now()
    const known = failures.get(key)
    if (known && at - known.lastAt <= RECOVERED_AFTER_MS) {
      known.lastAt = at
      known.repeats++
      if (at - known.loggedAt < REMIND_EVERY_MS) return undefined
      known.loggedAt = at
      return { repeats: known.repeats }
    }
    if (failures.size >= MAX_KEYS) forget(at)
    failures.set(key, { loggedAt: at, lastAt: at, repeats: 0 })
    return known && known.repeats > 0 ? { repeats: known.repeats } : {}
  }
}
export type RepeatFilter = ReturnType<typeof createRepeatFilter>

/** Only lines with a reason count as repeated. A line with a reference is always logged, because people search for it. */
function repeatKey(fields: Readonly<Record<string, unknown>>, text: string): string | undefined {
  const reason = fields['reason'] ?? fields['error']
  if (typeof reason !== 'string' || 'reference' in fields) return undefined
  if (/^Fault: |^KurrentDB at /.test(reason))
    return `${String(fields['service'])}\n${text}\n${reason.replace(VARIABLE_PARTS, '#')}`
  const subject = Object.entries(fields).filter(([name]) => !IGNORED_FIELDS.has(name))
  return `${text}\n${JSON.stringify(subject)}\n${reason}`
}
