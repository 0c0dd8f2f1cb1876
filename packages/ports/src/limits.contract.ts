import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Limits } from './limits.ts'

export type LimitsWorld = { readonly limits: Limits; teardown(): Promise<void> }

/** What every shared counter does. */
export function limitsContract(name: string, open: () => Promise<LimitsWorld>): void {
  describe(`limits: ${name}`, () => {
    let world: LimitsWorld
    let limits: Limits
    beforeEach(async () => {
      world = await open()
      limits = world.limits
    })
    afterEach(() => world.teardown())

    it('allows so many in a window and says when the next is', async () => {
      expect(await limits.hit('ip', 2, 100, 1000)).toEqual({ allowed: true, remaining: 1 })
      expect(await limits.hit('ip', 2, 100, 1040)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 2, 100, 1050)).toEqual({ allowed: false, retryAfterMs: 50 })
      expect(await limits.hit('ip', 2, 100, 1099)).toEqual({ allowed: false, retryAfterMs: 1 })
      expect(await limits.hit('ip', 2, 100, 1100)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 2, 100, 1101)).toEqual({ allowed: false, retryAfterMs: 39 })
    })
    it('does not count what it refused, and no other key', async () => {
      await limits.hit('ip', 1, 100, 0)
      for (let now = 1; now < 100; now += 7) expect(await limits.hit('ip', 1, 100, now)).toMatchObject({ allowed: false })
      expect(await limits.hit('other', 1, 100, 50)).toMatchObject({ allowed: true })
      expect(await limits.hit('ip', 1, 100, 100)).toMatchObject({ allowed: true })
    })
    it('is off at a limit of 0', async () => {
      for (let n = 0; n < 20; n++) expect(await limits.hit('ip', 0, 100, 1)).toMatchObject({ allowed: true })
    })
    it('takes back one hit, and only one that was counted then', async () => {
      for (const now of [10, 20, 20]) await limits.hit('ip', 3, 100, now)
      await limits.takeBack('ip', 15)
      await limits.takeBack('other', 20)
      expect(await limits.hit('ip', 3, 100, 30)).toEqual({ allowed: false, retryAfterMs: 80 })
      await limits.takeBack('ip', 20)
      expect(await limits.hit('ip', 3, 100, 30)).toEqual({ allowed: true, remaining: 0 })
      expect(await limits.hit('ip', 3, 100, 31)).toEqual({ allowed: false, retryAfterMs: 79 })
    })
    it('counts hits that come together one by one', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => limits.hit('ip', 5, 100, 1000)))
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(5)
    })
    it('never allows more than so many in any window, and never fewer than it could', async () => {
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
    it('remembers when somebody was heard of last', async () => {
      expect(await limits.lastSeen('agent')).toBeUndefined()
      await limits.touch('agent', 1_790_000_000_000)
      await limits.touch('agent', 1_780_000_000_000)
      expect(await limits.lastSeen('agent')).toBe(1_790_000_000_000)
    })
  })
}
