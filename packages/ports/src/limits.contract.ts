import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Limits } from './limits.ts'

export type LimitsFixture = { readonly limits: Limits; teardown(): Promise<void> }

/** Cases that every implementation of limits must pass. */
export function limitsContract(name: string, open: () => Promise<LimitsFixture>): void {
  describe(`limits: ${name}`, () => {
    let fixture: LimitsFixture
    let limits: Limits
    beforeEach(async () => {
      fixture = await open()
      limits = fixture.limits
    })
    afterEach(() => fixture.teardown())

    it('allow `limit` hits per window, and report the time until the next allowed hit', async () => {
      expect(await limits.hit('ip', 2, 100, 1000)).toEqual({ allowed: true, remaining: 1 })
      expect(await limits.hit('ip', 2, 100, 1040)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 2, 100, 1050)).toEqual({ allowed: false, retryAfterMs: 50 })
      expect(await limits.hit('ip', 2, 100, 1099)).toEqual({ allowed: false, retryAfterMs: 1 })
      expect(await limits.hit('ip', 2, 100, 1100)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 2, 100, 1101)).toEqual({ allowed: false, retryAfterMs: 39 })
    })
    it('count neither refused hits nor hits of other keys', async () => {
      await limits.hit('ip', 1, 100, 0)
      for (let now = 1; now < 100; now += 7) expect(await limits.hit('ip', 1, 100, now)).toMatchObject({ allowed: false })
      expect(await limits.hit('other', 1, 100, 50)).toMatchObject({ allowed: true })
      expect(await limits.hit('ip', 1, 100, 100)).toMatchObject({ allowed: true })
    })
    it('allow every hit at a limit of 0', async () => {
      for (let n = 0; n < 20; n++) expect(await limits.hit('ip', 0, 100, 1)).toMatchObject({ allowed: true })
    })
    it('take back one hit, and only a hit that was counted at that time', async () => {
      for (const now of [10, 20, 20]) await limits.hit('ip', 3, 100, now)
      await limits.takeBack('ip', 15)
      await limits.takeBack('other', 20)
      expect(await limits.hit('ip', 3, 100, 30)).toEqual({ allowed: false, retryAfterMs: 80 })
      await limits.takeBack('ip', 20)
      expect(await limits.hit('ip', 3, 100, 30)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 3, 100, 31)).toEqual({ allowed: false, retryAfterMs: 79 })
    })
    it('count concurrent hits one by one', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => limits.hit('ip', 5, 100, 1000)))
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(5)
    })
    it('allow exactly as many hits as the limit in any window', async () => {
      const gaps = fc.array(fc.nat(60), { maxLength: 40 })
      await fc.assert(
        fc.asyncProperty(gaps, fc.integer({ min: 1, max: 4 }), fc.uuid(), async (waits, limit, key) => {
          const allowed: number[] = []
          let now = 1000
          for (const wait of waits) {
            now += wait
            const counting = allowed.filter((hit) => hit > now - 100).length
            const answer = await limits.hit(key, limit, 100, now)
            expect(answer.allowed).toBe(counting < limit)
            if (answer.allowed) allowed.push(now)
          }
        }),
        { numRuns: 30 },
      )
    })
    it('never allow more hits than a limit of hundreds in any window, and refuse none for longer than a second', async () => {
      const windowMs = 10_000
      const gaps = fc.array(fc.nat(120), { minLength: 220, maxLength: 220 })
      await fc.assert(
        fc.asyncProperty(gaps, fc.uuid(), async (waits, key) => {
          const allowed: number[] = []
          let now = 1_790_000_000_123
          for (const wait of waits) {
            now += wait
            const counting = (forMs: number) => allowed.filter((hit) => hit > now - forMs).length
            const answer = await limits.hit(key, 101, windowMs, now)
            if (answer.allowed) allowed.push(now)
            expect(counting(windowMs)).toBeLessThanOrEqual(101)
            expect(answer.allowed || (answer.retryAfterMs > 0 && counting(windowMs + 1000) >= 101)).toBe(true)
          }
        }),
        { numRuns: 3 },
      )
    })
    it('report the time until the next hit of a limit of hundreds, and take back a hit of it', async () => {
      const start = 1_790_000_000_000
      for (let n = 0; n < 101; n++) await limits.hit('key', 101, 60_000, start + n)
      const refused = await limits.hit('key', 101, 60_000, start + 30_000)
      expect(refused).toMatchObject({ allowed: false })
      const waitMs = refused.allowed ? 0 : refused.retryAfterMs
      expect(waitMs).toBeGreaterThanOrEqual(30_000)
      expect(waitMs).toBeLessThanOrEqual(31_000)
      expect(await limits.hit('key', 101, 60_000, start + 30_000 + waitMs)).toMatchObject({ allowed: true })
      await limits.hit('other', 101, 60_000, start)
      for (let n = 0; n < 100; n++) await limits.hit('other', 101, 60_000, start + 1)
      await limits.takeBack('other', start + 1)
      expect(await limits.hit('other', 101, 60_000, start + 2)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('other', 101, 60_000, start + 2)).toMatchObject({ allowed: false })
    })
    it('store the time at which a key was last seen', async () => {
      expect(await limits.lastSeen('agent')).toBeUndefined()
      await limits.touch('agent', 1_790_000_000_000)
      await limits.touch('agent', 1_780_000_000_000)
      expect(await limits.lastSeen('agent')).toBe(1_790_000_000_000)
    })
  })
}
