import assert from 'node:assert/strict'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import { stillClock } from '@penstock/ports/still-clock.fixture.ts'
import { test } from 'vitest'
import { openReadModelWaiters } from './read-model-waiters.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('a commit wakes a waiting request at once', async () => {
  const waiters = openReadModelWaiters(stillClock)
  let value: string | undefined
  const found = waiters.wait(async () => value, ['order-1'], 5000)
  setImmediate(() => {
    value = 'there'
    waiters.notifyCommitted(['order-1'])
  })
  assert.equal(await found, 'there')
})

test("another replica's commit is found by polling", async () => {
  const clock = createInstantClock()
  let checks = 0
  const found = await openReadModelWaiters(clock).wait(async () => (++checks === 3 ? checks : undefined), ['order-1'], 5000)
  assert.deepEqual([found, clock.monotonicMs()], [3, 200])
})

test('a commit between the check and the sleep is not missed', async () => {
  const waiters = openReadModelWaiters(stillClock)
  let value: number | undefined
  const found = await waiters.wait(
    async () => {
      const seen = value
      value = 1
      waiters.notifyCommitted(['a'])
      return seen
    },
    ['a'],
    5000,
  )
  assert.equal(found, 1)
})

test('a wait ends at its deadline, after a last check', async () => {
  const clock = createInstantClock()
  const waiters = openReadModelWaiters(clock)
  const checkedAtMs: number[] = []
  assert.equal(await waiters.wait(async () => void checkedAtMs.push(clock.monotonicMs()), ['a'], 150), undefined)
  assert.deepEqual(checkedAtMs, [0, 100, 150])
  assert.equal(await waiters.wait(async () => 'yes', ['a'], 149), 'yes')
})

test('the polling slows down to once a second while nothing is found', async () => {
  const clock = createInstantClock()
  const waiters = openReadModelWaiters(clock)
  const checkedAtMs: number[] = []
  await waiters.wait(async () => void checkedAtMs.push(clock.monotonicMs()), ['a'], 30_000)
  const waitsMs = checkedAtMs.slice(1, -1).map((atMs, index) => atMs - (checkedAtMs[index] ?? 0))
  assert.deepEqual(waitsMs.slice(0, 5), [100, 100, 100, 100, 100])
  assert.deepEqual(
    waitsMs,
    waitsMs.toSorted((a, b) => a - b),
  )
  assert.equal(waitsMs.at(-1), 1000)
})

test('waits that began at different times poll together', async () => {
  const clock = createInstantClock()
  const waiters = openReadModelWaiters(clock)
  const checkedAtMs: number[] = []
  const waitUntilEnd = () => waiters.wait(async () => void checkedAtMs.push(clock.monotonicMs()), ['a'], 450)
  await clock.sleep(30)
  await waitUntilEnd()
  assert.deepEqual(checkedAtMs, [30, 200, 300, 400, 450])
})

test('no lookup runs before a command is sent, and a commit during the sending is not missed', async () => {
  const waiters = openReadModelWaiters(stillClock)
  const calls: string[] = []
  const send = async (): Promise<void> => {
    await nextTurn()
    calls.push('sent')
    waiters.notifyCommitted(['command-1'])
  }
  const check = async (): Promise<number | undefined> => (calls.push('check') < 3 ? undefined : calls.length)
  const found = waiters.wait(check, ['command-1'], 5000, { sent: send() })
  await nextTurn()
  setImmediate(() => waiters.notifyCommitted(['command-1']))
  assert.equal(await found, 3)
  assert.deepEqual(calls, ['sent', 'check', 'check'])
})

test('a command that cannot be sent fails the wait', async () => {
  const waiters = openReadModelWaiters(stillClock)
  const sent = Promise.reject(new Error('the bus is down'))
  await assert.rejects(
    waiters.wait(async () => 'never looked up', ['command-1'], 5000, { sent }),
    /the bus is down/,
  )
})

test('a sending that never ends does not prolong the wait, and is followed by one check at the deadline', async () => {
  const clock = createInstantClock()
  const checkedAtMs: number[] = []
  const { promise: sent, reject } = Promise.withResolvers<void>()
  const check = async () => void checkedAtMs.push(clock.monotonicMs())
  assert.equal(await openReadModelWaiters(clock).wait(check, ['command-1'], 5000, { sent }), undefined)
  assert.deepEqual(checkedAtMs, [5000])
  // A later failure of the sending must not cause an unhandled rejection.
  reject(new Error('the bus is down'))
  await nextTurn()
})

test('a commit during an unconfirmed sending is found at once', async () => {
  const waiters = openReadModelWaiters(stillClock)
  const found = waiters.wait(async () => 'stored', ['command-1'], 5000, { sent: new Promise(() => undefined) })
  waiters.notifyCommitted(['command-1'])
  assert.equal(await found, 'stored')
})

test('a check that throws fails the wait, and a later commit does not throw', async () => {
  const waiters = openReadModelWaiters(stillClock)
  await assert.rejects(
    waiters.wait(() => Promise.reject(new Error('the table is gone')), ['a'], 5000),
    /the table is gone/,
  )
  waiters.notifyCommitted(['a'])
})
