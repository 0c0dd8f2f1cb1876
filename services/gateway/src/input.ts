import { isPubkey } from '@penstock/bitcoin/pubkey.ts'
import { parseAmount } from '@penstock/kernel/money.ts'
import { invalid, invalidId } from './errors.ts'

/** Reads what callers send. Each function throws the sentence that tells them what to send instead. */

export type Page = { readonly limit: number; readonly offset: number }
/** A page as it is shown, under an id of its own. */
export type Pagination = Page & { readonly id: string }
export type PageInput = { readonly limit?: number | null; readonly offset?: number | null }

const MAX_PAGE = 100

/** Documented for every list: 10 from 0 where nothing is said, at most 100. */
export function pageOf(page: PageInput | null | undefined): Page {
  const limit = page?.limit ?? 10
  const offset = page?.offset ?? 0
  if (limit < 1 || limit > MAX_PAGE) throw invalid(`page.limit must be from 1 to ${MAX_PAGE}`)
  if (offset < 0) throw invalid('page.offset must be 0 or more')
  return { limit, offset }
}

/** How a list is shown: each page and each filter under an id of its own, so that a client's cache keeps them apart. */
export function listOf(name: string, { limit, offset }: Page, filter: object = {}): { id: string; pagination: Pagination } {
  const said = Object.entries(filter).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${String(value)}`]))
  const id = [name, `limit=${limit}`, `offset=${offset}`, ...said.toSorted()].join('/')
  return { id, pagination: { id, limit, offset } }
}

/** @returns the id in lower case, as it is stored */
export function idOf(text: string): string {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[089ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(text)) throw invalidId()
  return text.toLowerCase()
}

/** @param field what the sentence calls it */
export function pubkeyOf(text: string, field = 'pubkey'): string {
  if (!isPubkey(text)) throw invalid(`${field} must be the 66 hex digits of a node's public key`)
  return text.toLowerCase()
}

export type Bounds = { readonly min?: bigint; readonly max?: bigint }

/** A whole number in decimal digits, without sign. */
export function amountOf(text: string, field: string, { min = 0n, max }: Bounds = {}): bigint {
  const amount = parseAmount(text, max)
  if (amount === undefined || amount < min)
    throw invalid(
      `${field} must be a whole number${min > 0n ? ` of at least ${min}` : ''}${max === undefined ? '' : ` and at most ${max}`}, in digits only`,
    )
  return amount
}

export function wholeOf(value: number, field: string, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < min || value > max) throw invalid(`${field} must be from ${min} to ${max}`)
  return value
}

/** @returns the text without blanks around it */
export function textOf(text: string, field: string, min: number, max: number): string {
  const trimmed = text.trim()
  if (trimmed.length < min || trimmed.length > max)
    throw invalid(min > 0 ? `${field} must have ${min} to ${max} characters` : `${field} must have at most ${max} characters`)
  return trimmed
}

const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** An instant in ISO 8601. @returns milliseconds since 1970 */
export function timeOf(text: string, field: string): number {
  const [, day] = TIME.exec(text) ?? []
  const at = day !== undefined && isDay(day) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw invalid(`${field} must be a time such as 2027-01-31T12:00:00.000Z`)
  return at
}

/** A date without a time is read by rules of its own, by which the 31st of February is in March. */
function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day)
}

const MAX_URL = 2048
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Where a customer is sent afterwards: https only, or this machine in development. */
export function redirectUrlOf(text: string, allowLocalhost: boolean): string {
  if (text.length > MAX_URL) throw invalid(`redirect_url must have at most ${MAX_URL} characters`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLocal = url?.protocol === 'http:' && LOCAL.has(url.hostname)
  if (!url || url.username || url.password || !(url.protocol === 'https:' || (allowLocalhost && isLocal)))
    throw invalid('redirect_url must be an https address without a user name')
  return url.href
}
