import { createHmac } from 'node:crypto'

export type Delivery = {
  /** The valid secrets, `whsec_` and base64, with the newest first. */
  readonly secrets: readonly [string, ...string[]]
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
  secrets,
  envelopeId,
  eventType,
  timestampSeconds,
  body,
}: Delivery): Readonly<Record<string, string>> {
  const timestamp = `${timestampSeconds}`
  // The key is the secret as it is shown, with its prefix.
  const signature = createHmac('sha256', secrets[0]).update(`${timestamp}.`).update(body).digest('hex')
  const standardSignatures = secrets.map((secret) => {
    const mac = createHmac('sha256', decodeSecret(secret)).update(`${envelopeId}.${timestamp}.`).update(body)
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

const decodeSecret = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
