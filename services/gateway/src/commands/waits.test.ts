import assert from 'node:assert/strict'
import { test } from 'vitest'
import { openWaits } from './waits.ts'

test('a commit wakes whoever waits for it, at once', async () => {
  const waits = openWaits()
  let value: string | undefined
  const began = performance.now()
  const found = waits.wait(async () => value, ['order-1'], performance.now() + 5000)
  setImmediate(() => {
    value = 'there'
    waits.committed(['order-1'])
  })
  assert.equal(await found, 'there')
  assert.ok(performance.now() - began < 90)
})

test("another replica's commit is found by looking", async () => {
  const waits = openWaits()
  let looks = 0
  assert.equal(await waits.wait(async () => (++looks === 3 ? looks : undefined), ['order-1'], performance.now() + 5000), 3)
})

test('a commit between the look and the sleep is not missed', async () => {
  const waits = openWaits()
  let value: number | undefined
  const began = performance.now()
  const found = await waits.wait(
    async () => {
      const seen = value
      value = 1
      waits.committed(['a'])
      return seen
    },
    ['a'],
    performance.now() + 5000,
  )
  assert.equal(found, 1)
  assert.ok(performance.now() - began < 90)
})

test('it ends at its time, after a last look', async () => {
  const waits = openWaits()
  let looks = 0
  const began = performance.now()
  assert.equal(await waits.wait(async () => void looks++, ['a'], performance.now() + 150), undefined)
  assert.ok(performance.now() - began >= 149 && performance.now() - began < 1000)
  assert.ok(looks >= 2)
  assert.equal(await waits.wait(async () => 'yes', ['a'], performance.now() - 1), 'yes')
})

test('a look that fails fails the wait, and nothing stays asleep', async () => {
  const waits = openWaits()
  await assert.rejects(
    waits.wait(() => Promise.reject(new Error('the table is gone')), ['a'], performance.now() + 5000),
    /the table is gone/,
  )
  waits.committed(['a'])
})
