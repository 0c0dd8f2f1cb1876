import assert from 'node:assert/strict'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { test } from 'vitest'
import { createSampledGauge, createGauges } from './gauges.ts'

const times = { at: 0 }
const clock = {
  now: createJumpingWallClock(() => times.at),
  monotonicMs: () => times.at,
  // Each sleep ends in the next event-loop turn. So the timeout expires soon, but after the readers that answer at once.
  sleep: (_: number, signal?: AbortSignal) => new Promise<void>((over) => void (signal?.aborted ? over() : setImmediate(over))),
}

test('values are read on request, cached for a short time, and removed together with their subject', async () => {
  const gauge = createSampledGauge('penstock_test_waiting', 'A test.', ['queue'])
  const single = createSampledGauge('penstock_test_left', 'A test.')
  const gauges = createGauges({ ...clock, sleep: () => new Promise(() => undefined) })
  let reads = 0
  let queues = ['a', 'b']
  const unwatch = gauges.addReader(async () => {
    reads += 1
    return [
      ...queues.map((queue) => ({ gauge, labels: { queue }, value: 2 })),
      ...(queues.length > 0 ? [{ gauge: single, value: 7 }] : []),
    ]
  })
  const lines = async () => (await gauges.render()).text.split('\n').filter((line) => line.startsWith('penstock_test_'))
  assert.deepEqual(await lines(), [
    'penstock_test_waiting{queue="a"} 2',
    'penstock_test_waiting{queue="b"} 2',
    'penstock_test_left 7',
  ])
  queues = []
  assert.equal((await lines()).length, 3)
  assert.equal(reads, 1)
  times.at += 5000
  // Not even a 0 is shown, because an empty queue differs from a queue that no longer exists.
  assert.deepEqual(await lines(), [])
  unwatch()
  times.at += 5000
  await lines()
  assert.equal(reads, 2)
})

test('a reader that fails, or never ends, hides only its own values', async () => {
  times.at += 5000
  const gauge = createSampledGauge('penstock_test_fine', 'A test.')
  const gauges = createGauges(clock)
  gauges.addReader(() => Promise.reject(new Error('no store')))
  gauges.addReader(() => new Promise(() => undefined))
  gauges.addReader(async () => [{ gauge, value: 1 }])
  const { text, contentType } = await gauges.render()
  assert.match(text, /^penstock_test_fine 1$/m)
  assert.match(text, /^penstock_metrics_looks_failed_total 2$/m)
  assert.match(contentType, /^text\/plain/)
})
