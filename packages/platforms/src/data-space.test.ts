import { tmpdir } from 'node:os'
import { createGauges } from '@penstock/runtime/observability/gauges.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { expect, test } from 'vitest'
import { findMissingSpace, hasSpaceForOrders, measureDataSpace } from './data-space.ts'

test('a folder without space for the next writes is reported', () => {
  expect(findMissingSpace('/data', () => 16 << 20)).toBeUndefined()
  expect(findMissingSpace('/data', () => (16 << 20) - 1)).toBe('the disk of /data has only 16383 KiB left')
})

test('new orders stop before the reserve of the paid orders is used', () => {
  expect(hasSpaceForOrders('/data', () => 64 << 20)).toBe(true)
  expect(hasSpaceForOrders('/data', () => (64 << 20) - 1)).toBe(false)
  expect(findMissingSpace('/data', () => (64 << 20) - 1)).toBeUndefined()
})

test('the free space of the folder is a metric', async () => {
  const gauges = createGauges(systemClock)
  const remove = measureDataSpace(gauges, tmpdir())
  const { text } = await gauges.render()
  expect(Number(/^penstock_data_free_bytes (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0)
  remove()
})
