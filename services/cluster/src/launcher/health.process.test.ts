import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createHealthCheck } from './health.ts'

test('after a suspension of the launcher, a check that was due several times runs once', async () => {
  let checkCount = 0
  const health = createHealthCheck(
    async () => (++checkCount > 0 ? 'ready' : undefined),
    { intervalMs: 1000, answerMs: 1000, maxMissingAnswers: 3, maxMissingAnswersAtStart: 5 },
    true,
  )
  expect(await health.check()).toBe(undefined)
  expect(checkCount).toBe(0)
  await sleep(3500)
  expect(await health.check()).toBe(undefined)
  expect([checkCount, health.isHealthy]).toEqual([1, true])
})
