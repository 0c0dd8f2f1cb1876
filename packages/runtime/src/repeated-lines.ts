/** What a line is about, without what differs from try to try. */
const PASSING = new Set(['reason', 'error', 'stack', 'height', 'left', 'tries', 'known', 'trace'])
const VARIES = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64,66}|\b\d+\b/g

/** Without a failure for so long it worked again. */
const OVER_MS = 60_000
/** How often a failure that does not end is told. */
const STILL_MS = 600_000
const MOST = 2000

/**
 * Keeps an outage to one line for each subject and cause, however many loops meet it and however often they try. A fault has
 * the world outside as its subject, so its cause alone counts; anything else has its stream, order or job.
 * @param now milliseconds of a clock that does not jump
 */
export function repeatedLines(now: () => number) {
  const failing = new Map<string, { toldAt: number; lastAt: number; repeats: number }>()

  function forget(at: number): void {
    for (const [key, { lastAt }] of failing) if (at - lastAt > OVER_MS || failing.size > MOST) failing.delete(key)
  }

  /** @returns what to add to the line; undefined where it was told before */
  return (bound: object, fields: object, text: string): { readonly repeats?: number } | undefined => {
    const key = keyOf({ ...bound, ...fields }, text)
    if (key === undefined) return {}
    const at = now()
    const known = failing.get(key)
    if (known && at - known.lastAt <= OVER_MS) {
      known.lastAt = at
      known.repeats++
      if (at - known.toldAt < STILL_MS) return undefined
      known.toldAt = at
      return { repeats: known.repeats }
    }
    if (failing.size >= MOST) forget(at)
    failing.set(key, { toldAt: at, lastAt: at, repeats: 0 })
    return known && known.repeats > 0 ? { repeats: known.repeats } : {}
  }
}
export type RepeatedLines = ReturnType<typeof repeatedLines>

/** Only lines with a reason come again and again; one with a reference is asked for by it. */
function keyOf(fields: Readonly<Record<string, unknown>>, text: string): string | undefined {
  const reason = fields['reason'] ?? fields['error']
  if (typeof reason !== 'string' || 'reference' in fields) return undefined
  if (/^Fault: |^KurrentDB at /.test(reason)) return `${String(fields['service'])}\n${text}\n${reason.replace(VARIES, '#')}`
  const subject = Object.entries(fields).filter(([name]) => !PASSING.has(name))
  return `${text}\n${JSON.stringify(subject)}\n${reason}`
}
