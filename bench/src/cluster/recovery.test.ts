import { expect, test } from 'vitest'
import { findRecoveryMs, type Probe } from './recovery.ts'

/** Fixture: one probe per second, with these times to an invoice. */
const createProbes = (times: readonly (number | null)[]): readonly Probe[] =>
  times.map((tookMs, second) => ({ sentAtMs: second * 1000, tookMs }))

test('the market has recovered with the first of five probes in a row below twice the usual time', () => {
  expect(findRecoveryMs(createProbes([900, 399, 399, 399, 399, 399]), 200)).toBe(1399)
  expect(findRecoveryMs(createProbes([100, 100, 100, 100, 100]), 200)).toBe(100)
})

test('a probe at twice the usual time or without an invoice ends a streak', () => {
  expect(findRecoveryMs(createProbes([1, 1, 1, 1, 400, 1, 1, 1, 1, 1]), 200)).toBe(5001)
  expect(findRecoveryMs(createProbes([1, 1, 1, 1, null, 1, 1, 1, 1, 1]), 200)).toBe(5001)
})

test('without five probes in a row the market has not recovered', () => {
  expect(findRecoveryMs(createProbes([1, 1, 1, 1]), 200)).toBeNull()
  expect(findRecoveryMs([], 200)).toBeNull()
})
