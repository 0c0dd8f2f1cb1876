import { expect, test } from 'vitest'
import { findDifference } from './reconcile.ts'

test.each([
  ['held', 'held', undefined, undefined],
  ['settled', 'settled', undefined, undefined],
  ['settling', 'settled', undefined, undefined],
  ['held', 'settled', undefined, true],
  ['cancelled', 'settled', undefined, true],
  ['held', 'cancelled', undefined, false],
  ['open', 'held', undefined, false],
  ['settled', 'settled', 'succeeded', false],
  ['open', undefined, undefined, true],
  ['requested', undefined, undefined, undefined],
] as const)('a hold that is %s, with invoice %s and payout %s at the node: lost facts %s', (status, invoice, payout, lost) => {
  const paying = payout && ({} as never) // only its presence counts
  const payment = payout && ({ state: payout, preimage: '', feeMsat: 0n } as const)
  const found = findDifference({ hold: { status }, payout: { paying: paying ?? null } }, invoice && { state: invoice }, payment)
  expect(found?.hasLostFacts).toBe(lost)
})
