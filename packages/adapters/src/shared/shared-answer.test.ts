import { expect, test } from 'vitest'
import { sharedAnswer, sharedAnswers } from './shared-answer.ts'

/** Answers when it is told to, with how often it was asked. */
function slow() {
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

test('who asks while an answer is on its way shares the next one with all others', async () => {
  const source = slow()
  const ask = sharedAnswer(source.ask)
  const first = ask()
  const others = [ask(), ask(), ask()]
  expect(source.asked()).toBe(1)
  await source.answer()
  expect(await first).toBe(1)
  expect(source.asked()).toBe(2)
  const later = ask()
  await source.answer()
  expect(await Promise.all(others)).toEqual([2, 2, 2])
  await source.answer()
  expect(await later).toBe(3)
  expect(source.asked()).toBe(3)
})

test('a failure is told to those who waited for it, and to nobody else', async () => {
  let asked = 0
  const ask = sharedAnswer(() => (++asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(asked)))
  const [first, second] = await Promise.allSettled([ask(), ask()])
  expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: 2 }])
})

test('by name: each has its own', async () => {
  const asked: string[] = []
  const ask = sharedAnswers((name) => {
    asked.push(name)
    return Promise.resolve(name)
  })
  expect(await Promise.all([ask('a'), ask('a'), ask('b'), ask('a')])).toEqual(['a', 'a', 'b', 'a'])
  expect(asked.toSorted()).toEqual(['a', 'a', 'b'])
})
