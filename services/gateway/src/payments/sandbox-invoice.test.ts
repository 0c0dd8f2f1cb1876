import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import { deriveSandboxPreimage } from '@penstock/credentials/sandbox-secrets.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { createSandboxInvoice } from './sandbox-invoice.ts'

const pepper = new Uint8Array(32).fill(7)
const request = { transactionId: 'one', amountMsat: 5000n, description: 'tea', expirySeconds: 60, now: 1_790_000_000_999 }

test('an invoice has the payment hash of its transaction, and the expiry in whole seconds', () => {
  const made = createSandboxInvoice(pepper, request)
  const decoded = decodePaymentRequest(made.request)
  assert.equal(made.paymentHash, paymentHashOf(deriveSandboxPreimage(pepper, 'one')))
  assert.deepEqual([decoded?.paymentHash, decoded?.payee, decoded?.expiresAt], [made.paymentHash, made.payee, made.expiresAt])
  assert.equal(made.expiresAt, 1_790_000_060_000)
  assert.equal(decoded?.hasPaymentSecret, true)
})

test('each transaction has its own payment hash, and all have one payee', () => {
  const [one, other] = [createSandboxInvoice(pepper, request), createSandboxInvoice(pepper, { ...request, transactionId: 'two' })]
  assert.notEqual(one.paymentHash, other.paymentHash)
  assert.equal(one.payee, other.payee)
  const stranger = createSandboxInvoice(new Uint8Array(32).fill(8), request)
  assert.ok(stranger.payee !== one.payee && stranger.paymentHash !== one.paymentHash)
})
