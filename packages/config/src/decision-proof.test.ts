import { expect, test } from 'vitest'
import { deriveDecisionKey, isProvenDecision, proveDecision } from './decision-proof.ts'

const [key, other] = ['01'.repeat(32), '02'.repeat(32)]
const decision = { orderId: 'o', to: 'seller', by: 'ada', reason: 'it is announced' }
const proof = proveDecision(deriveDecisionKey(key), decision)

test('a decision is proven by the decision key of any key of the ring', () => {
  expect(isProvenDecision([other, key], decision, proof)).toBe(true)
  expect(isProvenDecision([other], decision, proof)).toBe(false)
  expect(isProvenDecision([], decision, proof)).toBe(false)
})

test('a proof is of one order, creditor, operator and reason', () => {
  for (const change of [{ orderId: 'p' }, { to: 'buyer' }, { by: 'bob' }, { reason: 'another' }])
    expect(isProvenDecision([key], { ...decision, ...change }, proof)).toBe(false)
  for (const wrong of ['', 'ab', '00'.repeat(32)]) expect(isProvenDecision([key], decision, wrong)).toBe(false)
})

test('the decision key does not reveal the key of the ring', () => {
  expect(deriveDecisionKey(key)).not.toContain(key)
  expect(deriveDecisionKey(key)).toMatch(/^[0-9a-f]{64}$/)
})
