import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { WebhookHeaders } from './headers.ts'
import { verifyWebhook, type VerifyOptions, WebhookVerificationError } from './verify-webhook.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const SIGNED_AT = 1614265330
const EVENT = { id: 'payment.completed:t1', event_type: 'payment.completed', data: { description: 'Käffchen ⚡' } }
const BODY = JSON.stringify(EVENT)

const sign = (secret: string, body: string, at = SIGNED_AT) => ({
  'x-webhook-timestamp': `${at}`,
  'x-webhook-signature': createHmac('sha256', secret).update(`${at}.${body}`).digest('hex'),
})
const signStandard = (secrets: readonly string[], body: string, at = SIGNED_AT) => ({
  'webhook-id': EVENT.id,
  'webhook-timestamp': `${at}`,
  'webhook-signature': secrets
    .map((secret) => createHmac('sha256', Buffer.from(secret.slice(6), 'base64')).update(`${EVENT.id}.${at}.${body}`))
    .map((mac) => `v1,${mac.digest('base64')}`)
    .join(' '),
})

const verify = (
  headers: WebhookHeaders,
  {
    body = BODY,
    secret = SECRET,
    at = SIGNED_AT,
    ...options
  }: VerifyOptions & { body?: string | Uint8Array | ArrayBuffer; secret?: string | readonly string[]; at?: number } = {},
) => verifyWebhook(body, headers, secret, { now: () => at * 1000, ...options })

test('a delivery with either signature returns its event', async () => {
  expect(await verify(sign(SECRET, BODY))).toEqual(EVENT)
  expect(await verify(signStandard([SECRET], BODY))).toEqual(EVENT)
  expect(await verify({ ...sign(SECRET, BODY), ...signStandard([SECRET], BODY) })).toEqual(EVENT)
})

test('the published example of Standard Webhooks is valid', async () => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': `${SIGNED_AT}`,
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  // Its body is no event, which is checked after the signature.
  await expect(verify(headers, { body: '{"test": 2432232314}' })).rejects.toMatchObject({ code: 'BODY_INVALID' })
  await expect(verify(headers, { body: '{"test": 2432232315}' })).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' })
})

test('the body may be text or bytes, with headers of any kind', async () => {
  const bytes = new TextEncoder().encode(BODY)
  const headers = sign(SECRET, BODY)
  expect(await verify(new Headers(headers), { body: bytes })).toEqual(EVENT)
  expect(await verify(headers, { body: Buffer.from(BODY) })).toEqual(EVENT)
  expect(await verify(headers, { body: bytes.buffer })).toEqual(EVENT)
  expect(
    await verify({ 'X-Webhook-Timestamp': [`${SIGNED_AT}`], 'X-Webhook-Signature': headers['x-webhook-signature'] }),
  ).toEqual(EVENT)
})

test('during a rotation the old and the new secret are valid', async () => {
  // The service signs its own header with the new secret only.
  const delivery = { ...sign(OTHER_SECRET, BODY), ...signStandard([OTHER_SECRET, SECRET], BODY) }
  for (const secret of [SECRET, OTHER_SECRET, [SECRET, OTHER_SECRET]]) expect(await verify(delivery, { secret })).toEqual(EVENT)
  expect(await verify(sign(OTHER_SECRET, BODY), { secret: [SECRET, OTHER_SECRET] })).toEqual(EVENT)
  await expect(verify(sign(OTHER_SECRET, BODY))).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' })
})

test.each([
  ['another body', sign(SECRET, `${BODY} `)],
  ['another secret', sign(OTHER_SECRET, BODY)],
  ['another time', { ...sign(SECRET, BODY), 'x-webhook-timestamp': `${SIGNED_AT + 1}` }],
  [
    'half of a signature',
    { ...sign(SECRET, BODY), 'x-webhook-signature': sign(SECRET, BODY)['x-webhook-signature'].slice(0, 32) },
  ],
  ['no hex digits', { ...sign(SECRET, BODY), 'x-webhook-signature': 'z'.repeat(64) }],
  ['two signatures in one header', { ...sign(SECRET, BODY), 'x-webhook-signature': Array(2).fill('a'.repeat(64)) }],
  ['another id', { ...signStandard([SECRET], BODY), 'webhook-id': 'payment.completed:t2' }],
  [
    'another version',
    {
      ...signStandard([SECRET], BODY),
      'webhook-signature': signStandard([SECRET], BODY)['webhook-signature'].replace('v1,', 'v1a,'),
    },
  ],
  ['no base64', { ...signStandard([SECRET], BODY), 'webhook-signature': 'v1,%' }],
])('a signature with %s is invalid', async (_, headers) => {
  await expect(verify(headers)).rejects.toMatchObject({ name: 'WebhookVerificationError', code: 'SIGNATURE_INVALID' })
})

test.each([
  [{}],
  [{ 'x-webhook-signature': 'a'.repeat(64) }],
  [{ ...sign(SECRET, BODY), 'x-webhook-timestamp': 'soon' }],
  [{ ...sign(SECRET, BODY), 'x-webhook-timestamp': '-1' }],
  [{ 'webhook-timestamp': `${SIGNED_AT}`, 'webhook-signature': 'v1,aa==' }],
])('headers %# are incomplete', async (headers) => {
  await expect(verify(headers)).rejects.toMatchObject({ code: 'HEADERS_MISSING' })
})

test('a signature is valid within the tolerance only', async () => {
  const headers = sign(SECRET, BODY)
  for (const at of [SIGNED_AT - 300, SIGNED_AT + 300]) expect(await verify(headers, { at })).toEqual(EVENT)
  await expect(verify(headers, { at: SIGNED_AT + 301 })).rejects.toMatchObject({ code: 'TIMESTAMP_TOO_OLD' })
  await expect(verify(headers, { at: SIGNED_AT - 301 })).rejects.toMatchObject({ code: 'TIMESTAMP_TOO_NEW' })
  await expect(verify(headers, { at: SIGNED_AT + 11, toleranceSeconds: 10 })).rejects.toThrow('signed too long ago')
})

test('a fresh timestamp does not make the other, old signature valid', async () => {
  const forged = { ...signStandard(['whsec_AAAA'], BODY, SIGNED_AT + 1000), ...sign(SECRET, BODY) }
  await expect(verify(forged, { at: SIGNED_AT + 1000 })).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' })
})

test('a signed body that is no event is refused', async () => {
  for (const body of ['', 'null', '[]', '{"id": 1}']) {
    await expect(verify(sign(SECRET, body), { body })).rejects.toMatchObject({ code: 'BODY_INVALID' })
  }
})

test('a mistake of the caller is a TypeError', async () => {
  const headers = sign(SECRET, BODY)
  await expect(verify(headers, { secret: '' })).rejects.toThrow(TypeError)
  await expect(verify(headers, { secret: [] })).rejects.toThrow(TypeError)
  // A framework may have parsed the body already.
  await expect(verify(headers, { body: EVENT as unknown as string })).rejects.toThrow('raw body')
  await expect(verify(headers, { secret: 'whsec_no base64!' })).rejects.toBeInstanceOf(WebhookVerificationError)
})
