import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** The two keys that a secret, `whsec_` and base64, stands for. */
export type SigningKeys = { readonly ofText: KeyObject; readonly ofBytes: KeyObject }

export type Delivery = {
  /** The keys of the valid secrets, with the newest first. */
  readonly keys: readonly [SigningKeys, ...SigningKeys[]]
  readonly envelopeId: string
  readonly eventType: string
  /** Seconds since 1970 at which this attempt is made. */
  readonly timestampSeconds: number
  /** The bytes that are sent. */
  readonly body: string | Uint8Array
}

const SECRET_PREFIX = 'whsec_'

/**
 * Signs one attempt. The headers beginning with `x-webhook-` are signed with the newest secret. Those beginning with `webhook-`
 * follow Standard Webhooks (github.com/standard-webhooks/standard-webhooks), with a signature for each valid secret.
 * @returns all headers of the request, with lower-case names
 */
export function signDelivery({
  keys,
  envelopeId,
  eventType,
  timestampSeconds,
  body,
}: Delivery): Readonly<Record<string, string>> {
  const timestamp = `${timestampSeconds}`
  const signature = createHmac('sha256', keys[0].ofText).update(`${timestamp}.`).update(body).digest('hex')
  const standardSignatures = keys.map(({ ofBytes }) => {
    const mac = createHmac('sha256', ofBytes).update(`${envelopeId}.${timestamp}.`).update(body)
    return `v1,${mac.digest('base64')}`
  })
  return {
    'content-type': 'application/json',
    'user-agent': 'Penstock-Webhooks/1',
    'x-webhook-event': eventType,
    'x-webhook-timestamp': timestamp,
    'x-webhook-signature': signature,
    'webhook-id': envelopeId,
    'webhook-timestamp': timestamp,
    'webhook-signature': standardSignatures.join(' '),
  }
}

/** Prepares the keys of a secret. A key that Node.js makes for each signature takes longer than the signature. */
export const toSigningKeys = (secret: string): SigningKeys => ({
  // The key of `x-webhook-signature` is the secret as it is shown, with its prefix.
  ofText: createSecretKey(secret, 'utf8'),
  ofBytes: createSecretKey(decodeSecret(secret)),
})

const decodeSecret = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
