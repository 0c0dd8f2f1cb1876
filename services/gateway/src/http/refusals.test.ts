import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { registry } from '@penstock/runtime/observability/metrics.ts'
import { expect, test } from 'vitest'
import { recordRefusal } from './refusals.ts'

const readCount = async (): Promise<number> => {
  const metric = await registry.getSingleMetric('penstock_authentication_refused_total')?.get()
  return metric?.values.find(({ labels }) => labels['method'] === 'operator')?.value ?? 0
}

test('every refusal is counted, and at most 61 lines are logged per minute', async () => {
  const lines: object[] = []
  const ignore = (): void => undefined
  const log: Logger = { debug: ignore, info: ignore, error: ignore, warn: (fields) => lines.push(fields), child: () => log }
  let now = 1000
  const clock = { now: () => now, monotonicMs: () => now }
  const refuse = (): void => recordRefusal({ log, clock }, { method: 'operator', code: 'wrong', ip: '192.0.2.7' })
  const before = await readCount()
  for (let n = 0; n < 100; n++) refuse()
  expect(lines).toHaveLength(61)
  expect(lines[0]).toEqual({ method: 'operator', code: 'wrong', ip: '192.0.2.7' })
  now += MINUTE_MS
  refuse()
  expect(lines).toHaveLength(62)
  expect((await readCount()) - before).toBe(101)
})
