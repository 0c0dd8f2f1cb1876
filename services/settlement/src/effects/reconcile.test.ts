import { expect, test } from 'vitest'
import { differenceOf } from './reconcile.ts'

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
] as const)('a hold that is %s where the node shows it %s and the payout %s: lost %s', (status, invoice, payout, lost) => {
  const paying = payout && ({} as never) // only whether there is one counts
  const payment = payout && ({ state: payout, preimage: '', feeMsat: 0n } as const)
  const found = differenceOf({ hold: { status }, payout: { paying: paying ?? null } }, invoice && { state: invoice }, payment)
  expect(found?.lost).toBe(lost)
})
