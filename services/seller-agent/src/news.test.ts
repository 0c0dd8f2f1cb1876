import { expect, test } from 'vitest'
import { bellOf, newsOf } from './news.ts'

const clock = {
  now: () => 0,
  monotonicMs: () => 0,
  sleep: (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}

test('a rest ends with the bell or the signal; what rang before it counts once', async () => {
  const bell = bellOf(clock)
  const stop = new AbortController()
  bell.ring()
  bell.ring()
  await bell.rest(1000, stop.signal)
  let rests = 0
  const resting = bell.rest(1000, stop.signal).then(() => rests++)
  await Promise.resolve()
  expect(rests).toBe(0)
  bell.ring()
  await resting
  const last = bell.rest(1000, stop.signal)
  stop.abort()
  await last
})

test('an order is told once, and rings for whoever works on sales', async () => {
  const news = newsOf(clock)
  news.order('one')
  news.order('one')
  await news.sales.rest(1000, new AbortController().signal)
  expect(news.takeOrders()).toEqual(['one'])
  expect(news.takeOrders()).toEqual([])
})
