import { expect, test } from 'vitest'
import { namingWindow } from './naming-window.ts'

const rules = { fundingSeenBlocks: 6, fundingConfirmsWithinBlocks: 8 }

test('with a mempool: six blocks, no new outpoint in the last two, and a publication up to the last one', () => {
  expect(namingWindow(100, { ...rules, seesMempool: true })).toEqual({ seenBefore: 106, namedBefore: 104, publishUntil: 105 })
})

test('without a mempool: at least 36 blocks, the last ones being those that a transaction may take to confirm', () => {
  const window = { seenBefore: 136, namedBefore: 128, publishUntil: 128 }
  expect(namingWindow(100, { ...rules, seesMempool: false })).toEqual(window)
  expect(namingWindow(100, { ...rules, fundingSeenBlocks: 50, seesMempool: false }).seenBefore).toBe(150)
})
