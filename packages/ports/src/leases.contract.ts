import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Leases } from './leases.ts'

export type LeasesWorld = {
  readonly leases: Leases
  /** Lets time pass, by the clock that the leases go by. */
  pass(ms: number): Promise<void>
  teardown(): Promise<void>
}

/** What every lease does. */
export function leasesContract(name: string, open: () => Promise<LeasesWorld>): void {
  describe(`leases: ${name}`, () => {
    let world: LeasesWorld
    let leases: Leases
    beforeEach(async () => {
      world = await open()
      leases = world.leases
    })
    afterEach(() => world.teardown())

    it('has one owner at a time, and every name its own', async () => {
      expect(await leases.hold('relay.order', 'a', 60_000)).toBe(true)
      expect(await leases.hold('relay.order', 'b', 60_000)).toBe(false)
      expect(await leases.hold('relay.quote', 'b', 60_000)).toBe(true)
    })
    it('is extended by its owner', async () => {
      expect(await leases.hold('relay', 'a', 300)).toBe(true)
      expect(await leases.hold('relay', 'a', 60_000)).toBe(true)
      await world.pass(400)
      expect(await leases.hold('relay', 'b', 60_000)).toBe(false)
    })
    it('runs out', async () => {
      await leases.hold('relay', 'a', 100)
      await world.pass(150)
      expect(await leases.hold('relay', 'b', 60_000)).toBe(true)
      expect(await leases.hold('relay', 'a', 60_000)).toBe(false)
    })
    it('is given up by its owner alone', async () => {
      await leases.hold('relay', 'a', 60_000)
      await leases.release('relay', 'b')
      expect(await leases.hold('relay', 'b', 60_000)).toBe(false)
      await leases.release('relay', 'a')
      expect(await leases.hold('relay', 'b', 60_000)).toBe(true)
    })
    it('goes to one of many who ask at once', async () => {
      const asked = await Promise.all(Array.from({ length: 12 }, (_, n) => leases.hold('relay', `owner ${n}`, 60_000)))
      expect(asked.filter(Boolean)).toHaveLength(1)
    })
  })
}
