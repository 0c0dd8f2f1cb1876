import { isHex } from '@penstock/bitcoin/hex.ts'
import type { SandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { sandboxBehavior } from '@penstock/contracts/payments/shapes.ts'
import { invalidInput } from '../errors.ts'

/** Parsers for the input of payments. The limits of texts count Unicode code points, not UTF-16 units. */

const MAX_NAME = 100
const MAX_DESCRIPTION = 640
const MAX_IDEMPOTENCY_KEY = 255
const MAX_METADATA = 2048
const MAX_EXPIRY_SECONDS = 2_592_000
const DEFAULT_EXPIRY_SECONDS = 600

const countCodePoints = (text: string): number => Array.from(text).length

/** @returns the text as it is */
function parseLimitedText(text: string, field: string, min: number, max: number): string {
  // A code point has at most two UTF-16 units, so a much longer text is not split into its code points.
  const length = text.length > 2 * max ? text.length : countCodePoints(text)
  if (length < min || length > max)
    throw invalidInput(
      min > 0 ? `${field} must have ${min} to ${max} characters` : `${field} must have at most ${max} characters`,
    )
  return text
}

/** @returns the name without surrounding white space */
export const parseNameField = (text: string): string => parseLimitedText(text.trim(), 'name', 1, MAX_NAME)

/** Parses an amount of base units. The contract allows no zero, no sign and at most 16 digits. */
export function parseBaseUnits(text: string, field = 'amount'): bigint {
  if (!/^[1-9][0-9]{0,15}$/.test(text))
    throw invalidInput(`${field} must be a whole number above zero, with at most 16 digits and nothing else`)
  return BigInt(text)
}

export const parseDescription = (text: string): string => parseLimitedText(text, 'description', 0, MAX_DESCRIPTION)

export const parseIdempotencyKey = (text: string): string => parseLimitedText(text, 'idempotency_key', 1, MAX_IDEMPOTENCY_KEY)

export function parseExpirySeconds(seconds: number | null | undefined): number {
  if (seconds === null || seconds === undefined) return DEFAULT_EXPIRY_SECONDS
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_EXPIRY_SECONDS)
    throw invalidInput(`expires_in_seconds must be from 1 to ${MAX_EXPIRY_SECONDS}`)
  return seconds
}

/** @param field the field's name in the error message @returns 32 bytes in lower-case hex */
export function parseHashField(text: string, field: string): string {
  if (!isHex(text, 32)) throw invalidInput(`${field} must be 64 hex digits`)
  return text.toLowerCase()
}

/** `text`: the metadata as it was sent; null without metadata. `behavior`: the end that it chooses for a sandbox. */
export type Metadata = { readonly text: string | null; readonly behavior: SandboxBehavior }

export function parseMetadata(text: string | null | undefined): Metadata {
  if (text === null || text === undefined) return { text: null, behavior: 'expire' }
  const values = parseJsonObject(parseLimitedText(text, 'metadata', 0, MAX_METADATA))
  if (!values) throw invalidInput('metadata must be the text of a JSON object')
  const behavior = sandboxBehavior.safeParse(values['svc_sandbox_behavior'] ?? 'expire')
  if (!behavior.success) throw invalidInput('metadata.svc_sandbox_behavior must be complete, fail or expire')
  return { text, behavior: behavior.data }
}

function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // An object that is no array has string keys.
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
