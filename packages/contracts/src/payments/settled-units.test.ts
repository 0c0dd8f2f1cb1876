import { btcAsset } from './assets.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { toSettledUnits } from './settled-units.ts'

const settlement = { amount: '7', amountMsat: '1001', feeMsat: null, at: 1, rate: null }

test('a received amount is rounded down, and a sent amount and its fee are rounded up', () => {
  const received = toSettledUnits({ direction: 'RECEIVE', assetId: btcAsset.id, settlement })
  assert.deepEqual(received, { amount: 1n, fee: 0n })
  const sent = toSettledUnits({ direction: 'SEND', assetId: btcAsset.id, settlement: { ...settlement, feeMsat: '1' } })
  assert.deepEqual(sent, { amount: 2n, fee: 1n })
})

test('whole amounts are not rounded', () => {
  const whole = { ...settlement, amountMsat: '2000', feeMsat: '3000' }
  assert.deepEqual(toSettledUnits({ direction: 'SEND', assetId: btcAsset.id, settlement: whole }), { amount: 2n, fee: 3n })
  assert.deepEqual(toSettledUnits({ direction: 'SEND', assetId: btcAsset.id, settlement: { ...whole, feeMsat: '0' } }), {
    amount: 2n,
    fee: 0n,
  })
})

test('the amount of an asset with a varying rate is the amount of the fact', () => {
  assert.deepEqual(toSettledUnits({ direction: 'RECEIVE', assetId: 'other', settlement }), { amount: 7n, fee: 0n })
})
