import { openLogger } from '@penstock/runtime/observability/log.ts'
import { expect, test } from 'vitest'
import { attestFunds } from './attest-funds.ts'

test('an attestation has the time before its balance was read, although the node answers slowly', async () => {
  let now = 1000
  const attestedAt: number[] = []
  const stop = new AbortController()
  const pubkey = `02${'a'.repeat(64)}`
  await attestFunds(
    {
      lightning: {
        wallet: {
          confirmedSat: async () => {
            now += 5000
            return 2_000_000n
          },
          inboundSat: async () => 0n,
          localSat: async () => 0n,
        },
        messages: { sign: async () => 'signature', recover: async () => pubkey },
      },
      market: {
        attest: async ({ at }) => {
          attestedAt.push(at)
          stop.abort()
        },
      },
      clock: { now: () => now, monotonicMs: () => now, sleep: async () => {} },
      log: openLogger('silent'),
      pubkey,
    },
    { fundsMs: 1000, attestMs: 10_000 },
    stop.signal,
  )
  expect(attestedAt).toEqual([1000])
})
