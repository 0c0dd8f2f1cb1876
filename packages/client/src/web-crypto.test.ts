import { expect, test } from 'vitest'
import { createIdempotencyKey, loadWebCrypto } from './web-crypto.ts'

test('Web Crypto comes from the runtime', async () => {
  expect(await loadWebCrypto()).toBe(globalThis.crypto)
})

test('idempotency keys differ', async () => {
  const keys = await Promise.all(Array.from({ length: 100 }, createIdempotencyKey))
  expect(new Set(keys).size).toBe(100)
})
