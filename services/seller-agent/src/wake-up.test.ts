import { expect, test } from 'vitest'
import { createWakeUpSignal, createWakeUps } from './wake-up.ts'

const clock = {
  now: () => 0,
  monotonicMs: () => 0,
  sleep: (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}

test('a wait ends at a wake-up or at the abort, and several earlier wake-ups end only one wait', async () => {
  const wakeUp = createWakeUpSignal(clock)
  const stop = new AbortController()
  wakeUp.wake()
  wakeUp.wake()
  await wakeUp.wait(1000, stop.signal)
  let waits = 0
  const waiting = wakeUp.wait(1000, stop.signal).then(() => waits++)
  await Promise.resolve()
  expect(waits).toBe(0)
  wakeUp.wake()
  await waiting
  const last = wakeUp.wait(1000, stop.signal)
  stop.abort()
  await last
})

test('wakeForOrder ends the wait of the sale worker, and takeOrders returns the order once', async () => {
  const wakeUps = createWakeUps(clock)
  wakeUps.wakeForOrder('one')
  wakeUps.wakeForOrder('one')
  await wakeUps.sales.wait(1000, new AbortController().signal)
  expect(wakeUps.takeOrders()).toEqual(['one'])
  expect(wakeUps.takeOrders()).toEqual([])
})
