import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import { parseAmount } from '@penstock/kernel/money.ts'
import { invalidInput, invalidId } from './errors.ts'

/** Parsers for the input of callers. Each parser throws an error whose message says what to send instead. */

/** Whether an optional field was sent. An empty text was, and must not lift the restriction that the field stands for. */
export const isGiven = <Value>(value: Value): value is NonNullable<Value> => value !== null && value !== undefined

/** @returns the id in lower case, as it is stored */
export function parseId(text: string): string {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[089ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(text)) throw invalidId()
  return text.toLowerCase()
}

/** @param field the field's name in the error message */
export function parsePubkeyField(text: string, field = 'pubkey'): string {
  if (!isPubkey(text)) throw invalidInput(`${field} must be the 66 hex digits of a node's public key`)
  return text.toLowerCase()
}

export type AmountBounds = { readonly min?: bigint; readonly max?: bigint }

/** Parses a whole number in decimal digits, without a sign. */
export function parseAmountField(text: string, field: string, { min = 0n, max }: AmountBounds = {}): bigint {
  const amount = parseAmount(text, max)
  if (amount === undefined || amount < min)
    throw invalidInput(
      `${field} must be a whole number${min > 0n ? ` of at least ${min}` : ''}${max === undefined ? '' : ` and at most ${max}`}, in digits only`,
    )
  return amount
}

/** Parses a count in decimal digits, small enough for a JavaScript number. */
export function parseCountField(text: string, field: string, min: number, max: number): number {
  const amount = parseAmount(text, BigInt(max))
  if (amount === undefined || amount < BigInt(min))
    throw invalidInput(`${field} must be a whole number from ${min} to ${max}, in digits only`)
  return Number(amount)
}

/** @returns the text without surrounding white space */
export function parseTextField(text: string, field: string, min: number, max: number): string {
  const trimmed = text.trim()
  if (trimmed.length < min || trimmed.length > max)
    throw invalidInput(
      min > 0 ? `${field} must have ${min} to ${max} characters` : `${field} must have at most ${max} characters`,
    )
  return trimmed
}

const ISO_TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** Parses an instant in ISO 8601. @returns milliseconds since 1970 */
export function parseTimeField(text: string, field: string): number {
  const [, day] = ISO_TIME.exec(text) ?? []
  const at = day !== undefined && isCalendarDay(day) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw invalidInput(`${field} must be a time such as 2027-01-31T12:00:00.000Z`)
  return at
}

/** `Date` turns 31 February into a day of March, so this function compares the parsed day with the text. */
function isCalendarDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
}

const MAX_URL_LENGTH = 2048
const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Checks the URL to which a customer returns after a purchase: https, or http to this machine in development. */
export function parseRedirectUrl(text: string, allowLocalhost: boolean): string {
  if (text.length > MAX_URL_LENGTH) throw invalidInput(`redirect_url must have at most ${MAX_URL_LENGTH} characters`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url?.protocol === 'http:' && LOCAL_HOSTS.has(url.hostname)
  if (!url || url.username || url.password || !(url.protocol === 'https:' || (allowLocalhost && isLocal)))
    throw invalidInput('redirect_url must be an https address without a user name')
  return url.href
}
