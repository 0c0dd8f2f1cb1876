import { expect, test } from 'vitest'
import { settlementService } from './service.ts'

test('an observation is valid for a minute, and invalid if its age is unknown or another clock timed it', () => {
  const [own] = settlementService().aggregates
  const guardedUntil = (observedAt: number, preparedAtMs: number) =>
    own?.validUntil?.['Guard']?.({ observedAt } as never, preparedAtMs) // the validity depends on this field only
  expect(guardedUntil(5000, 5200)).toBe(65_000)
  expect(guardedUntil(0, 5200)).toBe(Number.NEGATIVE_INFINITY)
  expect(guardedUntil(1_800_000_000_000, 5200)).toBe(Number.NEGATIVE_INFINITY)
})
