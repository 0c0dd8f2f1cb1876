import { expect, test } from 'vitest'
import { createHealthCheck } from './health.ts'

const limits = { intervalMs: 0, answerMs: 20, maxMissingAnswers: 3, maxMissingAnswersAtStart: 5 }
type Answer = 'ready' | 'starting' | undefined
const HANGS = /^has not answered \d+ times in a row; it hangs and is killed$/

async function runChecks(answers: readonly (() => Promise<Answer>)[], wasReady: boolean): Promise<(string | undefined)[]> {
  const left = [...answers]
  const health = createHealthCheck(() => (left.shift() ?? no)(), limits, wasReady)
  const found = []
  while (found.length < answers.length) found.push(await health.check())
  return found
}
const yes = async () => 'ready' as const
const starts = async () => 'starting' as const
const no = async () => undefined
const broken = async () => {
  throw new Error('connect ECONNREFUSED')
}
const never = () => new Promise<undefined>(() => undefined)

test('three missing answers in a row, of any kind, mean that a process hangs', async () => {
  expect(await runChecks([no, broken, never], true)).toEqual([undefined, undefined, expect.stringMatching(HANGS)])
})

test('one answer resets the count of missing answers', async () => {
  expect(await runChecks([no, no, yes, no, no, yes], true)).toEqual(Array.from({ length: 6 }))
})

test('a starting process may miss more answers, until it has been ready once', async () => {
  expect(await runChecks([no, no, no, no, no], false)).toEqual([...Array.from({ length: 4 }), expect.stringMatching(HANGS)])
  expect(await runChecks([starts, no, no, no, no, starts], false)).toEqual(Array.from({ length: 6 }))
  expect(await runChecks([no, no, no, no, yes, no, no, no], false)).toEqual([
    ...Array.from({ length: 7 }),
    expect.stringMatching(HANGS),
  ])
})
