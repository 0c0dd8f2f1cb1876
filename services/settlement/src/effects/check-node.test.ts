import { expect, test } from 'vitest'
import { checkNodeJob } from './check-node.ts'
import type { SettlementJobContext } from './stream-access.ts'

test.each([
  [12, 0],
  [17, 0],
  [18, 1],
  [24, 1],
  [null, 1],
])('a node that cancels holds %s blocks before their expiry is logged %i times', async (holdExpiryDelta, times) => {
  const errors: unknown[] = []
  const lightning = { info: () => Promise.resolve({ version: '0.20', holdExpiryDelta }) }
  const ports = { lightning, log: { error: (about: unknown) => errors.push(about) } }
  // The fake contains only what the job reads.
  await checkNodeJob.run({ ports } as unknown as SettlementJobContext, new AbortController().signal)
  expect(errors).toHaveLength(times)
})
