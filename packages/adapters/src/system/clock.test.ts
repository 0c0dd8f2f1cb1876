import { describe, expect, it } from 'vitest'
import { systemClock } from './clock.ts'

describe('the system clock', () => {
  it('sleeps at least as long as asked', async () => {
    const started = performance.now()
    await systemClock.sleep(20)
    expect(performance.now() - started).toBeGreaterThanOrEqual(19)
  })
  it('wakes up with the signal, and does not sleep where it has fired', async () => {
    const stop = new AbortController()
    const sleeping = systemClock.sleep(60_000, stop.signal)
    stop.abort()
    await sleeping
    await systemClock.sleep(60_000, stop.signal)
  })
})
