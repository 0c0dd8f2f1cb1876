import type { WebhookEnvelope } from './envelope.ts'
import { readHeader, type WebhookHeaders } from './headers.ts'
import { loadWebCrypto } from '../web-crypto.ts'

export type VerifyOptions = {
  /** The largest difference between the time of the signature and now, in seconds: 300 unless it is given. */
  readonly toleranceSeconds?: number | undefined
  /** The present time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined
}

/**
 * HEADERS_MISSING: the request has no signature, or its timestamp is not a number of seconds.
 * TIMESTAMP_TOO_OLD, TIMESTAMP_TOO_NEW: the signature is outside of the tolerance; the request may be a replay.
 * SIGNATURE_INVALID: no signature was made with a secret that was given, for this body.
 * BODY_INVALID: the signed body is not an event.
 */
export type WebhookErrorCode =
  | 'HEADERS_MISSING'
  | 'TIMESTAMP_TOO_OLD'
  | 'TIMESTAMP_TOO_NEW'
  | 'SIGNATURE_INVALID'
  | 'BODY_INVALID'

/** A request that must not be trusted: answer with status 400, and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** One way to sign a delivery. */
type SignedRequest = {
  readonly timestamp: string
  /** The text that the signature covers before the body. */
  readonly prefix: string
  readonly signatures: readonly Uint8Array[]
  readonly readKey: (secret: string) => Uint8Array | undefined
}

/**
 * Verifies the signature of a delivery, and returns its event. A request may be signed in two ways, and one valid signature is
 * enough: `x-webhook-signature`, or `webhook-signature` of Standard Webhooks.
 * @param rawBody the bytes of the request as they came, not JSON that was parsed and made again
 * @param secret the secret of the endpoint; after its rotation, the new and the old one
 * @throws WebhookVerificationError if the request must not be trusted
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now }: VerifyOptions = {},
): Promise<WebhookEnvelope> {
  const body = toBytes(rawBody)
  const secrets = (typeof secret === 'string' ? [secret] : secret).filter((text) => text.length > 0)
  if (secrets.length === 0) throw new TypeError('verifyWebhook needs the secret of the endpoint, and it is empty')
  const requests = [readOwnSignature(headers), readStandardSignature(headers)].filter((request) => request !== undefined)
  if (requests.length === 0)
    throw new WebhookVerificationError('HEADERS_MISSING', 'the request has no complete headers of a signature')
  const fresh = requests.filter(({ timestamp }) => Math.abs(Number(timestamp) - now() / 1000) <= toleranceSeconds)
  const [first] = requests
  if (fresh.length === 0 && first) throw createTimestampError(Number(first.timestamp) < now() / 1000)
  for (const request of fresh) if (await isSigned(request, body, secrets)) return readEnvelope(body)
  throw new WebhookVerificationError(
    'SIGNATURE_INVALID',
    'no signature of the request fits: check the secret, and pass the body as it came',
  )
}

function toBytes(rawBody: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody)
  if (rawBody instanceof Uint8Array) return rawBody
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody)
  throw new TypeError('verifyWebhook needs the raw body as text or bytes; a parsed body has lost what was signed')
}

const createTimestampError = (isOld: boolean): WebhookVerificationError =>
  isOld
    ? new WebhookVerificationError('TIMESTAMP_TOO_OLD', 'the request was signed too long ago')
    : new WebhookVerificationError('TIMESTAMP_TOO_NEW', 'the request was signed in the future: check the clock')

/** x-webhook-signature: hex digits, keyed with the whole text of the secret. */
function readOwnSignature(headers: WebhookHeaders): SignedRequest | undefined {
  const timestamp = readTimestamp(headers, 'x-webhook-timestamp')
  const signature = readHeader(headers, 'x-webhook-signature')
  if (timestamp === undefined || signature === undefined) return undefined
  const bytes = /^[0-9a-f]{64}$/i.test(signature)
    ? [Uint8Array.from(signature.match(/../g) ?? [], (hex) => parseInt(hex, 16))]
    : []
  return { timestamp, prefix: `${timestamp}.`, signatures: bytes, readKey: (secret) => new TextEncoder().encode(secret) }
}

/** webhook-signature: one or more of `v1,<base64>`, keyed with the bytes that the secret encodes. */
function readStandardSignature(headers: WebhookHeaders): SignedRequest | undefined {
  const id = readHeader(headers, 'webhook-id')
  const timestamp = readTimestamp(headers, 'webhook-timestamp')
  const signature = readHeader(headers, 'webhook-signature')
  if (id === undefined || timestamp === undefined || signature === undefined) return undefined
  const signatures = signature
    .split(' ')
    .flatMap((entry) => (entry.startsWith('v1,') ? (decodeBase64(entry.slice(3)) ?? []) : []))
  const readKey = (secret: string) => decodeBase64(secret.replace(/^whsec_/, ''))
  return { timestamp, prefix: `${id}.${timestamp}.`, signatures, readKey }
}

function readTimestamp(headers: WebhookHeaders, name: string): string | undefined {
  const text = readHeader(headers, name)
  return text !== undefined && /^\d{1,12}$/.test(text) ? text : undefined
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

async function isSigned({ prefix, signatures, readKey }: SignedRequest, body: Uint8Array, secrets: readonly string[]) {
  const { subtle } = await loadWebCrypto()
  const prefixBytes = new TextEncoder().encode(prefix)
  const signed = new Uint8Array(prefixBytes.length + body.length)
  signed.set(prefixBytes)
  signed.set(body, prefixBytes.length)
  for (const secret of secrets) {
    const bytes = readKey(secret)
    if (!bytes || bytes.length === 0) continue
    const key = await subtle.importKey('raw', new Uint8Array(bytes), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    // `verify` of Web Crypto compares in constant time.
    for (const signature of signatures) if (await subtle.verify('HMAC', key, new Uint8Array(signature), signed)) return true
  }
  return false
}

function readEnvelope(body: Uint8Array): WebhookEnvelope {
  try {
    const envelope = JSON.parse(new TextDecoder().decode(body)) as Partial<WebhookEnvelope> | null // checked below
    if (typeof envelope?.id === 'string' && typeof envelope.event_type === 'string') return envelope as WebhookEnvelope // its sender signed it
  } catch {
    // It is no JSON.
  }
  throw new WebhookVerificationError('BODY_INVALID', 'the signed body is not an event')
}
