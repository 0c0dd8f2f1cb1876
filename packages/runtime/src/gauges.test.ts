import assert from 'node:assert/strict'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { test } from 'vitest'
import { lookedUp, openGauges } from './gauges.ts'

const times = { at: 0 }
const clock = {
  now: jumpingWall(() => times.at),
  monotonicMs: () => times.at,
  // Whoever waits for a look waits in no time at all.
  sleep: (_: number, signal?: AbortSignal) => new Promise<void>((over) => void (signal?.aborted ? over() : setTimeout(over, 20))),
}

test('figures are looked up when they are asked for, kept for a moment, and gone with what they told of', async () => {
  const gauge = lookedUp('penstock_test_waiting', 'A test.', ['queue'])
  const single = lookedUp('penstock_test_left', 'A test.')
  const gauges = openGauges({ ...clock, sleep: () => new Promise(() => undefined) })
  let looks = 0
  let queues = ['a', 'b']
  const unwatch = gauges.watch(async () => {
    looks += 1
    return [
      ...queues.map((queue) => ({ gauge, labels: { queue }, value: 2 })),
      ...(queues.length > 0 ? [{ gauge: single, value: 7 }] : []),
    ]
  })
  const lines = async () => (await gauges.page()).text.split('\n').filter((line) => line.startsWith('penstock_test_'))
  assert.deepEqual(await lines(), [
    'penstock_test_waiting{queue="a"} 2',
    'penstock_test_waiting{queue="b"} 2',
    'penstock_test_left 7',
  ])
  queues = []
  assert.equal((await lines()).length, 3)
  assert.equal(looks, 1)
  times.at += 5000
  // Not even a 0: nothing is left is not the same as nothing to look at.
  assert.deepEqual(await lines(), [])
  unwatch()
  times.at += 5000
  await lines()
  assert.equal(looks, 2)
})

test('a look that fails, or never ends, hides its own figures and no others', async () => {
  times.at += 5000
  const gauge = lookedUp('penstock_test_fine', 'A test.')
  const gauges = openGauges(clock)
  gauges.watch(() => Promise.reject(new Error('no store')))
  gauges.watch(() => new Promise(() => undefined))
  gauges.watch(async () => [{ gauge, value: 1 }])
  const { text, contentType } = await gauges.page()
  assert.match(text, /^penstock_test_fine 1$/m)
  assert.match(text, /^penstock_metrics_looks_failed_total 2$/m)
  assert.match(contentType, /^text\/plain/)
})
