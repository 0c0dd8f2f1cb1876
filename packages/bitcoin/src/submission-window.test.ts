import { expect, test } from 'vitest'
import { computeSubmissionWindow } from './submission-window.ts'

const rules = { fundingSeenBlocks: 6, fundingConfirmsWithinBlocks: 8 }

test('with a mempool, the window has six blocks, and its last two accept no new outpoint', () => {
  expect(computeSubmissionWindow(100, { ...rules, seesMempool: true })).toEqual({
    seenBefore: 106,
    namedBefore: 104,
    publishUntil: 105,
  })
})

test('without a mempool, the window has at least 36 blocks, and its last blocks are reserved for the confirmation', () => {
  const window = { seenBefore: 136, namedBefore: 128, publishUntil: 128 }
  expect(computeSubmissionWindow(100, { ...rules, seesMempool: false })).toEqual(window)
  expect(computeSubmissionWindow(100, { ...rules, fundingSeenBlocks: 50, seesMempool: false }).seenBefore).toBe(150)
})
