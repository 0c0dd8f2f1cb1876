import { expect, test } from 'vitest'
import { createSingleFlight, createSingleFlights } from './single-flight.ts'

/** A source whose calls stay pending. Each `answer` resolves the oldest pending call with the number of that call. */
function createSlowSource() {
  const waiting: (() => void)[] = []
  let asked = 0
  return {
    asked: () => asked,
    ask: () =>
      new Promise<number>((resolve) =>
        waiting.push(
          (
            (count) => () =>
              resolve(count)
          )(++asked),
        ),
      ),
    async answer() {
      waiting.shift()?.()
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    },
  }
}

test('calls that arrive during a running call share the next call', async () => {
  const source = createSlowSource()
  const ask = createSingleFlight(source.ask)
  const first = ask()
  const concurrentCalls = [ask(), ask(), ask()]
  expect(source.asked()).toBe(1)
  await source.answer()
  expect(await first).toBe(1)
  expect(source.asked()).toBe(2)
  const later = ask()
  await source.answer()
  expect(await Promise.all(concurrentCalls)).toEqual([2, 2, 2])
  await source.answer()
  expect(await later).toBe(3)
  expect(source.asked()).toBe(3)
})

test('a failure rejects only the calls that waited for it', async () => {
  let asked = 0
  const ask = createSingleFlight(() => (++asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(asked)))
  const [first, second] = await Promise.allSettled([ask(), ask()])
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: 2 }])
})

test('calls with different names do not share a call', async () => {
  const asked: string[] = []
  const ask = createSingleFlights((name) => {
    asked.push(name)
    return Promise.resolve(name)
  })
  expect(await Promise.all([ask('a'), ask('a'), ask('b'), ask('a')])).toEqual(['a', 'a', 'b', 'a'])
  expect(asked.toSorted()).toEqual(['a', 'a', 'b'])
})
