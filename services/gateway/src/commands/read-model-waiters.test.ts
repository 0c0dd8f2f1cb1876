import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openReadModelWaiters } from './read-model-waiters.ts'

test('a commit wakes a waiting request at once', async () => {
  const waiters = openReadModelWaiters()
  let value: string | undefined
  const startedMs = performance.now()
  const found = waiters.wait(async () => value, ['order-1'], performance.now() + 5000)
  setImmediate(() => {
    value = 'there'
    waiters.notifyCommitted(['order-1'])
  })
  assert.equal(await found, 'there')
  assert.ok(performance.now() - startedMs < 90)
})

test("another replica's commit is found by polling", async () => {
  const waiters = openReadModelWaiters()
  let checks = 0
  assert.equal(await waiters.wait(async () => (++checks === 3 ? checks : undefined), ['order-1'], performance.now() + 5000), 3)
})

test('a commit between the check and the sleep is not missed', async () => {
  const waiters = openReadModelWaiters()
  let value: number | undefined
  const startedMs = performance.now()
  const found = await waiters.wait(
    async () => {
      const seen = value
      value = 1
      waiters.notifyCommitted(['a'])
      return seen
    },
    ['a'],
    performance.now() + 5000,
  )
  assert.equal(found, 1)
  assert.ok(performance.now() - startedMs < 90)
})

test('a wait ends at its deadline, after a last check', async () => {
  const waiters = openReadModelWaiters()
  let checks = 0
  const startedMs = performance.now()
  assert.equal(await waiters.wait(async () => void checks++, ['a'], performance.now() + 150), undefined)
  assert.ok(performance.now() - startedMs >= 149 && performance.now() - startedMs < 1000)
  assert.ok(checks >= 2)
  assert.equal(await waiters.wait(async () => 'yes', ['a'], performance.now() - 1), 'yes')
})

test('a check that throws fails the wait, and a later commit does not throw', async () => {
  const waiters = openReadModelWaiters()
  await assert.rejects(
    waiters.wait(() => Promise.reject(new Error('the table is gone')), ['a'], performance.now() + 5000),
    /the table is gone/,
  )
  waiters.notifyCommitted(['a'])
})
