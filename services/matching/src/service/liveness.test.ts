import { command } from '@penstock/kernel/process.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { SellerTarget } from '@penstock/contracts/matching.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '@penstock/market/funded-reservations.ts'
import { expect, test } from 'vitest'
import { openMarketFixture, secret, START } from '../matching.fixture.ts'

test('a seller counts as live for a window after its last heartbeat', async () => {
  const { attest, schedule, runJobs, types } = await openMarketFixture(['5000000'])
  const seller = derivePubkey(secret(1))
  schedule(10_000, () => attest(1))
  schedule(20_000, () => attest(1))
  await runJobs(49_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared'])
  await runJobs(40_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
  await attest(1)
  expect(types('seller', seller).at(-1)).toBe('SellerAppeared')
})

test('after a start every seller has a full window, and a repeated attestation does not extend it', async () => {
  const { attest, schedule, ports, runJobs, types } = await openMarketFixture(['5000000'])
  const seller = derivePubkey(secret(1))
  await ports.clock.sleep(3_600_000) // down for an hour
  await runJobs(27_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared'])
  await attest(1)
  const at = ports.clock.now()
  for (const ms of [10_000, 20_000, 30_000]) schedule(ms, () => attest(1, '50000000', at))
  await runJobs(36_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
})

test('a wall clock that is set ahead after a start silences no seller within its window', async () => {
  const { attest, schedule, ports, runJobs, types } = await openMarketFixture(['5000000'])
  const { now } = ports.clock
  ports.clock.now = () => now() + 3_600_000
  for (const ms of [9000, 18_000, 27_000]) schedule(ms, () => attest(1))
  await runJobs(36_000)
  expect(types('seller', derivePubkey(secret(1)))).toEqual(['SellerAppeared'])
})

test('a heartbeat that waited for up to a minute counts for a window from its arrival, and an older one does not count', async () => {
  const { attest, ports, runJobs, types } = await openMarketFixture(['5000000'])
  const seller = derivePubkey(secret(1))
  const attestLate = async (waitedMs: number) => {
    const at = ports.clock.now()
    await ports.clock.sleep(waitedMs)
    return attest(1, '50000000', at)
  }
  await attestLate(MAX_CLOCK_DIFFERENCE_MS)
  await runJobs(29_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared'])
  await runJobs(40_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
  expect(await attestLate(MAX_CLOCK_DIFFERENCE_MS + 1)).toMatchObject({ outcome: 'refused', code: 'ATTESTATION_TIME' })
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
})

test('a heartbeat that another node signed is refused and does not count', async () => {
  const { decide, ports, types } = await openMarketFixture([])
  const pubkey = derivePubkey(secret(1))
  const data = { accountId: uuidFor(1), pubkey, confirmedSat: '1', at: START, signature: 'y'.repeat(104) }
  expect(await decide(command<SellerTarget>('seller', pubkey, { type: 'Attest', data }))).toMatchObject({
    outcome: 'refused',
    code: 'ATTESTATION_SIGNATURE',
  })
  expect(await ports.limits.lastSeen(`seller-heartbeat/${pubkey}`)).toBeUndefined()
  expect(types('seller', pubkey)).toEqual([])
})
