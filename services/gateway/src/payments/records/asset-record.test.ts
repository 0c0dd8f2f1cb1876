import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { formatUsd, formatWholeUnits, toAmountRecord } from './asset-record.ts'

test('base units are formatted with all decimal places of the asset', () => {
  const cases = [
    [0n, 8, '0.00000000'],
    [1n, 8, '0.00000001'],
    [123_456_789n, 8, '1.23456789'],
    [100_000_000n, 8, '1.00000000'],
    [5n, 0, '5'],
    [1_500_000n, 6, '1.500000'],
  ] as const
  for (const [units, precision, text] of cases) assert.equal(formatWholeUnits(units, precision), text)
})

test('a dollar value is rounded to the nearest cent', () => {
  assert.equal(formatUsd(100_000_000_000n, 9_876_543n), '98765.43')
  assert.equal(formatUsd(50_000n, 10_000_000n), '0.05')
  assert.equal(formatUsd(4_999n, 10_000_000n), '0.00')
  assert.equal(formatUsd(5_000n, 10_000_000n), '0.01')
})

test('an amount without a rate or without a value in bitcoin has no dollar value', () => {
  const rate = { centsPerBtc: '10000000', at: 1 }
  const usdOf = (amountMsat: bigint | null, known: typeof rate | null) =>
    toAmountRecord('x', btcAsset, { units: 1n, amountMsat, rate: known }).value.usd_value
  assert.deepEqual([usdOf(1_000_000n, rate), usdOf(1_000_000n, null), usdOf(null, rate)], ['1.00', null, null])
})
