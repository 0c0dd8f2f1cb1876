type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Reads Retry-After (RFC 9110, section 10.2.3). A date is compared with the Date header of the same answer, so that a wrong
 * clock of either side does not matter.
 * @returns whole seconds, at least 0; null if the header is missing or invalid
 */
export function readRetryAfter(headers: Headers): number | null {
  const value = readOne(headers['retry-after'])
  if (value === undefined) return null
  if (/^\d{1,10}$/.test(value)) return Number(value)
  if (!value.endsWith('GMT')) return null
  const ms = Date.parse(value) - Date.parse(readOne(headers['date']) ?? '')
  return Number.isNaN(ms) ? null : Math.max(0, Math.ceil(ms / 1000))
}

const readOne = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value.trim() : undefined
