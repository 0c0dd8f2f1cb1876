import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from './clock.ts'

export type ClockFixture = {
  readonly clock: Clock
  teardown(): Promise<void>
}

/** A timer of the machine may fire up to a millisecond early. */
const EARLY_MS = 1
/** Longer than the maximum delay of a timer of the machine. */
const MONTH_MS = 2 ** 31 + 1000

/** Cases that every clock must pass. */
export function clockContract(name: string, open: () => Promise<ClockFixture>): void {
  describe(`clock: ${name}`, () => {
    let fixture: ClockFixture
    let clock: Clock
    beforeEach(async () => {
      fixture = await open()
      clock = fixture.clock
    })
    afterEach(() => fixture.teardown())

    it('returns whole milliseconds since 1970, and advances with every sleep', async () => {
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
    it('has a monotonic reading in whole milliseconds that advances with every sleep', async () => {
      const seen = [clock.monotonicMs()]
      for (const ms of [1, 3, 10]) {
        await clock.sleep(ms)
        seen.push(clock.monotonicMs())
      }
      expect(seen.every(Number.isInteger)).toBe(true)
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect((seen.at(-1) ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(14 - 3 * EARLY_MS - 1)
    })
    it.each([1, 20, 2.5])('sleeps at least as long as requested: %d ms', async (ms) => {
      const startedAt = clock.now()
      await clock.sleep(ms)
      expect(clock.now() - startedAt).toBeGreaterThanOrEqual(ms - EARLY_MS)
    })
    it('wakes all sleepers in the order of their wake-up times', async () => {
      const woken: number[] = []
      const sleeper = async (ms: number) => {
        await clock.sleep(ms)
        woken.push(ms)
      }
      await Promise.all([90, 30, 60, 30, 0].map(sleeper))
      expect(woken).toEqual([0, 30, 30, 60, 90])
    })
    it.each([0, -1, -MONTH_MS, -Infinity])(
      'wakes soon, but not in the same turn, if the delay is not positive: %d ms',
      async (ms) => {
        let isAwake = false
        const slept = clock.sleep(ms).then(() => void (isAwake = true))
        expect(isAwake).toBe(false)
        const other = clock.sleep(500).then(() => 'the other')
        expect(await Promise.race([slept.then(() => 'this'), other])).toBe('this')
      },
    )
    it('wakes at once when the signal aborts, and removes its listener', async () => {
      const stop = new AbortController()
      const startedAt = clock.now()
      const sleepers = [60_000, 1, MONTH_MS].map((ms) => clock.sleep(ms, stop.signal))
      stop.abort()
      await Promise.all(sleepers)
      expect(clock.now() - startedAt).toBeLessThan(60_000)
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    })
    it('does not sleep if the signal has aborted already', async () => {
      const startedAt = clock.now()
      await clock.sleep(60_000, AbortSignal.abort())
      expect(clock.now() - startedAt).toBeLessThan(60_000)
    })
    it('removes its listener after a full sleep, and ignores a later abort', async () => {
      const stop = new AbortController()
      await clock.sleep(5, stop.signal)
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
      stop.abort(new Error('a sleeper ignores this reason'))
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
    it.each([2 ** 31 - 1, 2 ** 31, MONTH_MS, 2 ** 40, Infinity])('keeps sleeping during a long delay: %d ms', async (ms) => {
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
