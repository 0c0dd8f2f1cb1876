import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Leases } from './leases.ts'

export type LeasesFixture = {
  readonly leases: Leases
  /** Lets time pass on the clock of the leases. */
  pass(ms: number): Promise<void>
  teardown(): Promise<void>
}

/** Cases that every implementation of leases must pass. */
export function leasesContract(name: string, open: () => Promise<LeasesFixture>): void {
  describe(`leases: ${name}`, () => {
    let fixture: LeasesFixture
    let leases: Leases
    beforeEach(async () => {
      fixture = await open()
      leases = fixture.leases
    })
    afterEach(() => fixture.teardown())

    it('have one owner at a time per name', async () => {
      expect(await leases.acquire('relay.order', 'a', 60_000)).toBe(true)
      expect(await leases.acquire('relay.order', 'b', 60_000)).toBe(false)
      expect(await leases.acquire('relay.quote', 'b', 60_000)).toBe(true)
    })
    it('can be extended by their owner', async () => {
      expect(await leases.acquire('relay', 'a', 300)).toBe(true)
      expect(await leases.acquire('relay', 'a', 60_000)).toBe(true)
      await fixture.pass(400)
      expect(await leases.acquire('relay', 'b', 60_000)).toBe(false)
    })
    it('expire', async () => {
      await leases.acquire('relay', 'a', 100)
      await fixture.pass(150)
      expect(await leases.acquire('relay', 'b', 60_000)).toBe(true)
      expect(await leases.acquire('relay', 'a', 60_000)).toBe(false)
    })
    it('can be released only by their owner', async () => {
      await leases.acquire('relay', 'a', 60_000)
      await leases.release('relay', 'b')
      expect(await leases.acquire('relay', 'b', 60_000)).toBe(false)
      await leases.release('relay', 'a')
      expect(await leases.acquire('relay', 'b', 60_000)).toBe(true)
    })
    it('of several names are acquired independently by concurrent calls', async () => {
      await leases.acquire('relay.2', 'b', 60_000)
      const results = await Promise.all([1, 2, 3].map((n) => leases.acquire(`relay.${n}`, 'a', 100 * n)))
      expect(results).toEqual([true, false, true])
      await fixture.pass(150)
      expect(await leases.acquire('relay.1', 'b', 60_000)).toBe(true)
      expect(await leases.acquire('relay.3', 'b', 60_000)).toBe(false)
    })
    it('are acquired by only one of many concurrent callers', async () => {
      const results = await Promise.all(Array.from({ length: 12 }, (_, n) => leases.acquire('relay', `owner ${n}`, 60_000)))
      expect(results.filter(Boolean)).toHaveLength(1)
    })
  })
}
