import { expect, test } from 'vitest'
import { isProvenRefund, proveRefund } from './refund-proof.ts'

const [preimage, other] = ['01'.repeat(32), '02'.repeat(32)]
const refund = { orderId: 'o', request: 'lnbc1' }
const proof = proveRefund(preimage, refund)

test('an invoice is proven by any of the keys, and by no other one', () => {
  expect(isProvenRefund([other, preimage], refund, proof)).toBe(true)
  expect(isProvenRefund([other], refund, proof)).toBe(false)
  expect(isProvenRefund([], refund, proof)).toBe(false)
})

test('a proof is of one order and one invoice', () => {
  for (const change of [{ orderId: 'p' }, { request: 'lnbc2' }])
    expect(isProvenRefund([preimage], { ...refund, ...change }, proof)).toBe(false)
  for (const wrong of ['', 'ab', '00'.repeat(32)]) expect(isProvenRefund([preimage], refund, wrong)).toBe(false)
})
