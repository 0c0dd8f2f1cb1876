import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from './clock.ts'

export type ClockWorld = {
  readonly clock: Clock
  teardown(): Promise<void>
}

/** A timer of the machine may ring within the millisecond before its clock says so. */
const EARLY_MS = 1
/** Longer than a timer of the machine can wait. */
const MONTH_MS = 2 ** 31 + 1000

/** What every clock does. */
export function clockContract(name: string, open: () => Promise<ClockWorld>): void {
  describe(`clock: ${name}`, () => {
    let world: ClockWorld
    let clock: Clock
    beforeEach(async () => {
      world = await open()
      clock = world.clock
    })
    afterEach(() => world.teardown())

    it('tells whole milliseconds since 1970, and goes on with every sleep, never back', async () => {
      expect(clock.now()).toBeGreaterThan(Date.UTC(2020))
      const seen = [clock.now()]
      for (const ms of [1, 3, 10]) {
        await clock.sleep(ms)
        seen.push(clock.now())
      }
      expect(seen.every(Number.isInteger)).toBe(true)
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect((seen.at(-1) ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(14 - 3 * EARLY_MS)
    })
    it('has a monotonic reading of whole milliseconds, which goes on with every sleep', async () => {
      const seen = [clock.monotonicMs()]
      for (const ms of [1, 3, 10]) {
        await clock.sleep(ms)
        seen.push(clock.monotonicMs())
      }
      expect(seen.every(Number.isInteger)).toBe(true)
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect((seen.at(-1) ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(14 - 3 * EARLY_MS - 1)
    })
    it.each([1, 20, 2.5])('sleeps no shorter than asked: %d ms', async (ms) => {
      const begun = clock.now()
      await clock.sleep(ms)
      expect(clock.now() - begun).toBeGreaterThanOrEqual(ms - EARLY_MS)
    })
    it('wakes in the order of the ends, whoever went to sleep first, and all of one instant', async () => {
      const woken: number[] = []
      const sleeper = async (ms: number) => {
        await clock.sleep(ms)
        woken.push(ms)
      }
      await Promise.all([90, 30, 60, 30, 0].map(sleeper))
      expect(woken).toEqual([0, 30, 30, 60, 90])
    })
    it.each([0, -1, -MONTH_MS, -Infinity])(
      'wakes soon where there is nothing to wait for, but not in the same turn: %d ms',
      async (ms) => {
        let isAwake = false
        const slept = clock.sleep(ms).then(() => void (isAwake = true))
        expect(isAwake).toBe(false)
        const other = clock.sleep(500).then(() => 'the other')
        expect(await Promise.race([slept.then(() => 'this'), other])).toBe('this')
      },
    )
    it('wakes at once with the signal, and leaves nothing behind at it', async () => {
      const stop = new AbortController()
      const begun = clock.now()
      const sleepers = [60_000, 1, MONTH_MS].map((ms) => clock.sleep(ms, stop.signal))
      stop.abort()
      await Promise.all(sleepers)
      expect(clock.now() - begun).toBeLessThan(60_000)
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    })
    it('does not sleep where the signal has fired', async () => {
      const begun = clock.now()
      await clock.sleep(60_000, AbortSignal.abort())
      expect(clock.now() - begun).toBeLessThan(60_000)
    })
    it('leaves nothing behind at a signal that did not fire, and does not mind that it fires later', async () => {
      const stop = new AbortController()
      await clock.sleep(5, stop.signal)
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
      stop.abort(new Error('why is nothing to a sleeper'))
      await clock.sleep(5)
    })
    it('wakes one sleeper with its own signal and leaves the others asleep', async () => {
      const [one, other] = [new AbortController(), new AbortController()]
      const woken: string[] = []
      const first = clock.sleep(60_000, one.signal).then(() => woken.push('one'))
      const second = clock.sleep(60_000, other.signal).then(() => woken.push('other'))
      one.abort()
      await first
      await clock.sleep(5)
      expect(woken).toEqual(['one'])
      other.abort()
      await second
    })
    it.each([2 ** 31 - 1, 2 ** 31, MONTH_MS, 2 ** 40, Infinity])('sleeps on through a long while: %d ms', async (ms) => {
      const stop = new AbortController()
      let isAwake = false
      const slept = clock.sleep(ms, stop.signal).then(() => void (isAwake = true))
      await clock.sleep(50)
      expect(isAwake).toBe(false)
      stop.abort()
      await slept
    })
  })
}
