import { expect, test } from 'vitest'
import { decodePaymentRequest } from './bolt11.ts'
import { ambiguous, mutate, unambiguous } from './bolt11-mutations.fixture.ts'

test.each(ambiguous)('a signed invoice with $name is refused', (mutation) => {
  expect(decodePaymentRequest(mutate(mutation))).toBeUndefined()
})

test.each(unambiguous)('a signed invoice with $name decodes', (mutation) => {
  expect(decodePaymentRequest(mutate(mutation))).toMatchObject({ network: 'regtest', paymentHash: 'ab'.repeat(32) })
  expect(decodePaymentRequest(mutate(mutation).toUpperCase())).toBeDefined()
})
