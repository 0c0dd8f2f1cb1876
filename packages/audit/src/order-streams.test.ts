import { expect, test } from 'vitest'
import { isSharedStream } from './order-streams.ts'

test('streams of offers and sellers have facts of several orders, and claims belong to one', () => {
  expect(['offer-1', 'seller-1', 'payhash-1', 'outpoint-1', 'order-1', 'email-1'].filter(isSharedStream)).toEqual([
    'offer-1',
    'seller-1',
  ])
})

test('a stream of an unknown category is not shared, so that a damaged file is reported', () => {
  expect(isSharedStream('unknown-1')).toBe(false)
})
