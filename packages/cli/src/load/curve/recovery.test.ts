import { expect, test } from 'vitest'
import { createVirtualRun } from '../virtual-run.fixture.ts'
import { findRecovery, measureRecovery } from './recovery.ts'

const LIMIT_MS = 100
const toPurchases = (times: readonly (number | null | undefined)[]) => times.map((ms, index) => ({ atMs: index * 1000, ms }))

test('the recovery begins with the first of five normal purchases in a row', () => {
  expect(findRecovery(toPurchases([20, 20, 20, 20, 20]), LIMIT_MS)).toBe(0)
  expect(findRecovery(toPurchases([20, 20, 20, 20]), LIMIT_MS)).toBeNull()
  expect(findRecovery(toPurchases([900, 20, 20, 100, 20, 20, 20, 20, 99]), LIMIT_MS)).toBe(4000)
})

test('refused purchases and purchases in flight interrupt the row', () => {
  expect(findRecovery(toPurchases([20, 20, null, 20, 20, 20]), LIMIT_MS)).toBeNull()
  expect(findRecovery(toPurchases([20, 20, undefined, 20, 20, 20, 20, 20]), LIMIT_MS)).toBe(3000)
})

/** Fixture: purchase n takes the nth time; null refuses it. Later purchases take the last time. */
function measure(times: readonly (number | null)[], { maxWaitMs = 60_000, interruptMs = Infinity } = {}) {
  const time = createVirtualRun()
  const interrupt = new AbortController()
  if (Number.isFinite(interruptMs)) void time.clock.sleep(interruptMs).then(() => interrupt.abort())
  let count = 0
  const buy = async (): Promise<boolean> => {
    const ms = times[Math.min(count++, times.length - 1)] ?? null
    await time.clock.sleep(ms ?? 1)
    return ms !== null
  }
  const { clock } = time
  return time.complete(measureRecovery({ normalP50Ms: 50, buy, maxWaitMs, clock, signal: interrupt.signal }))
}

test('one purchase a second is due, even while earlier purchases have no answer', async () => {
  const { purchases, recoveredMs, limitMs } = await measure([7000, null, 150, 30])
  expect({ recoveredMs, limitMs }).toEqual({ recoveredMs: 3000, limitMs: 100 })
  expect(purchases.map(({ atMs }) => atMs)).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000, 7000])
  expect(purchases.slice(0, 4).map(({ ms }) => ms)).toEqual([7000, null, 150, 30])
})

test('the measurement gives up after its longest wait, and at once after Ctrl-C', async () => {
  const slow = await measure([500], { maxWaitMs: 10_000 })
  expect(slow).toMatchObject({ recoveredMs: null })
  expect(slow.purchases).toHaveLength(11)
  const interrupted = await measure([500], { interruptMs: 2500 })
  expect(interrupted).toMatchObject({ recoveredMs: null })
  expect(interrupted.purchases).toHaveLength(3)
})

test('a defect of this program is no slow purchase', async () => {
  const time = createVirtualRun()
  const buy = () => Promise.reject(new TypeError('a defect'))
  const { signal } = new AbortController()
  const measured = measureRecovery({ normalP50Ms: 50, buy, maxWaitMs: 10_000, clock: time.clock, signal })
  await expect(time.complete(measured)).rejects.toThrow('a defect')
})
