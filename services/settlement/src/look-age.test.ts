import { expect, test } from 'vitest'
import { settlementService } from './service.ts'

test('a look counts for a minute by the monotonic clock; one of unknown age, or by another clock, counts for nothing', () => {
  const [own] = settlementService().aggregates
  const guardedUntil = (lookedAt: number, preparedAtMs: number) =>
    own?.goodUntil?.['Guard']?.({ lookedAt } as never, preparedAtMs) // as the command has it
  expect(guardedUntil(5000, 5200)).toBe(65_000)
  expect(guardedUntil(0, 5200)).toBe(Number.NEGATIVE_INFINITY)
  expect(guardedUntil(Date.now(), 5200)).toBe(Number.NEGATIVE_INFINITY)
})
