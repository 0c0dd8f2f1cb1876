import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Delivery, signDelivery, toSigningKeys } from './sign.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const olderSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const delivery = {
  secrets: [secret] as const,
  envelopeId: 'payment.completed:0193c1a0-0000-7000-8000-000000000001',
  eventType: 'payment.completed',
  timestampSeconds: 1_700_000_000,
  body: '{"id":"payment.completed:1","text":"ä €"}',
}

type Signed = Omit<Delivery, 'keys'> & { readonly secrets: readonly [string, ...string[]] }
const sign = ({ secrets: [newest, ...older], ...signed }: Signed) =>
  signDelivery({ ...signed, keys: [toSigningKeys(newest), ...older.map(toSigningKeys)] })

test('the headers of a delivery are complete', () => {
  expect(sign(delivery)).toEqual({
    'content-type': 'application/json',
    'user-agent': 'Penstock-Webhooks/1',
    'x-webhook-event': 'payment.completed',
    'x-webhook-timestamp': '1700000000',
    'x-webhook-signature': 'ac04bf5b543507c53a8ec469430d4206511d0db2f02394154cad8bed139139b5',
    'webhook-id': 'payment.completed:0193c1a0-0000-7000-8000-000000000001',
    'webhook-timestamp': '1700000000',
    'webhook-signature': 'v1,wSic9pYkgieEBvGeUuJYjm4N448rSFq1SFxktr7wkE8=',
  })
})

test('x-webhook-signature is a hexadecimal HMAC of timestamp and body, keyed with the whole text of the newest secret', () => {
  const { 'x-webhook-signature': signature } = sign({ ...delivery, secrets: [secret, olderSecret] })
  expect(signature).toBe(createHmac('sha256', secret).update(`1700000000.${delivery.body}`).digest('hex'))
})

test('a body of bytes and the same body as text have the same signatures', () => {
  expect(sign({ ...delivery, body: Buffer.from(delivery.body) })).toEqual(sign(delivery))
  expect(sign({ ...delivery, body: new TextEncoder().encode(delivery.body) })).toEqual(sign(delivery))
})

test.each([
  ['the body', { body: `${delivery.body} ` }],
  ['the time', { timestampSeconds: delivery.timestampSeconds + 1 }],
  ['the secret', { secrets: [olderSecret] as const }],
])('both signatures depend on %s', (_, change) => {
  const [one, other] = [sign(delivery), sign({ ...delivery, ...change })]
  expect(other['x-webhook-signature']).not.toBe(one['x-webhook-signature'])
  expect(other['webhook-signature']).not.toBe(one['webhook-signature'])
})

describe('Standard Webhooks', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: delivery.timestampSeconds * 1000 })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('the published vector of its libraries gives the published signature', () => {
    // libraries/javascript/src/webhook.test.ts, "sign function works"; the same values are in the tests of all its libraries.
    const vector = {
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] as const,
      envelopeId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      eventType: 'test',
      timestampSeconds: 1614265330,
      body: '{"test": 2432232314}',
    }
    expect(sign(vector)['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
    expect(sign({ ...vector, secrets: ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] })['webhook-signature']).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  test('its package verifies a delivery with each valid secret, and with no other one', () => {
    const headers = sign({ ...delivery, secrets: [secret, olderSecret] })
    expect(headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/)
    for (const valid of [secret, olderSecret])
      expect(new Webhook(valid).verify(delivery.body, headers)).toEqual(JSON.parse(delivery.body))
    const other = new Webhook(`whsec_${Buffer.alloc(32, 9).toString('base64')}`)
    expect(() => other.verify(delivery.body, headers)).toThrow('No matching signature found')
    expect(() => new Webhook(secret).verify(`${delivery.body} `, headers)).toThrow('No matching signature found')
  })

  test('its package makes the same signature for arbitrary bodies, ids and secrets', () => {
    const bytes = fc.uint8Array({ minLength: 24, maxLength: 64 })
    fc.assert(
      fc.property(bytes, fc.string(), fc.uuid(), fc.nat(), (key, body, envelopeId, timestampSeconds) => {
        const text = `whsec_${Buffer.from(key).toString('base64')}`
        const headers = sign({ secrets: [text], envelopeId, eventType: 'payment.failed', timestampSeconds, body })
        expect(headers['webhook-signature']).toBe(new Webhook(text).sign(envelopeId, new Date(timestampSeconds * 1000), body))
      }),
    )
  })
})
