import { setTimeout as sleep } from 'node:timers/promises'
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

test('after a suspension of the launcher, a check that was due several times runs once', async () => {
  let checkCount = 0
  const health = createHealthCheck(async () => (++checkCount > 0 ? 'ready' : undefined), { ...limits, intervalMs: 30 }, true)
  expect(await health.check()).toBe(undefined)
  expect(checkCount).toBe(0)
  await sleep(200)
  expect(await health.check()).toBe(undefined)
  expect([checkCount, health.isHealthy]).toEqual([1, true])
})
