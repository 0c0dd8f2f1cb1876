import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { newWebhookSecret } from './webhook-secret.ts'

test('a webhook secret has the format of Standard Webhooks with 256 random bits', () => {
  expect(newWebhookSecret((bytes) => new Uint8Array(bytes).fill(7))).toBe('whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=')
  const secrets = Array.from({ length: 100 }, () => newWebhookSecret(randomBytes))
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
  expect(new Set(secrets).size).toBe(100)
})
