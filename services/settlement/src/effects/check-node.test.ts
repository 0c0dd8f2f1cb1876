import { expect, test } from 'vitest'
import { checkNodeJob } from './check-node.ts'
import type { Jobs } from './record.ts'

test.each([
  [12, 0],
  [17, 0],
  [18, 1],
  [24, 1],
  [null, 1],
])('a node that gives holds back %s blocks before their end is told %i times', async (holdExpiryDelta, times) => {
  const told: unknown[] = []
  const lightning = { info: () => Promise.resolve({ version: '0.20', holdExpiryDelta }) }
  const ports = { lightning, log: { error: (about: unknown) => told.push(about) } }
  // Only what the job asks is there.
  await checkNodeJob.run({ ports } as unknown as Jobs, new AbortController().signal)
  expect(told).toHaveLength(times)
})
