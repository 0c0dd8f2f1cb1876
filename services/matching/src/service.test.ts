import { Fault } from '@penstock/kernel/result.ts'
import { command } from '@penstock/kernel/process.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import { channelContract } from '@penstock/contracts/channel.ts'
import type { OfferTarget, MatchTarget } from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '@penstock/market/funded-reservations.ts'
import { expect, test } from 'vitest'
import { openMarketFixture, promises, secret } from './matching.fixture.ts'

const need: OrderRequirements = {
  sizeSat: '1000000',
  destination: { pubkey: derivePubkey(secret(99)), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 4320,
  sellerBudgetMsat: '2000000',
  ranking: 'cheapest',
}
const first = {
  offerId: uuidFor(1),
  sellerPubkey: derivePubkey(secret(1)),
  sellerAccountId: uuidFor(1),
  rails: false,
  sellerAmountMsat: '2000000',
  promises,
}
const find = (orderId: string, attempt = 1, tried: string[] = []) =>
  command<MatchTarget>('match', orderId, {
    type: 'FindSeller',
    data: { attempt, need, first, only: false, autoAccepted: true, tried },
  })
const orderIdOf = (n: number) => uuidFor(500 + n)

test('orders get capacity until none is left, and released capacity serves the next order', async () => {
  const { decide, types } = await openMarketFixture(['1500000', '1000000'])
  for (const n of [1, 2, 3]) await decide(find(orderIdOf(n)))
  expect(types('match', orderIdOf(1))).toEqual(['SearchBegun', 'Matched'])
  expect(types('match', orderIdOf(2))).toEqual(['SearchBegun', 'Matched'])
  expect(types('match', orderIdOf(3))).toEqual(['SearchBegun', 'Unmatched'])
  expect(types('offer', uuidFor(1))).toEqual(['OfferCreated', 'CapacityReserved'])
  await decide(
    command<MatchTarget>('match', orderIdOf(1), { type: 'ReleaseMatch', data: { attempt: 1, requestNumber: 1, reason: 'over' } }),
  )
  expect(types('offer', uuidFor(1)).at(-1)).toBe('ReservationReleased')
  await decide(find(orderIdOf(4)))
  expect(types('match', orderIdOf(4))).toEqual(['SearchBegun', 'Matched'])
  await decide(command<MatchTarget>('match', orderIdOf(1), { type: 'RenewReservation', data: { attempt: 1, requestNumber: 1 } }))
  expect(types('match', orderIdOf(1)).slice(-2)).toEqual(['ReservationRenewalRequested', 'ReservationRenewalRefused'])
  await decide(command<MatchTarget>('match', orderIdOf(4), { type: 'UseMatch', data: { attempt: 1 } }))
  expect(types('offer', uuidFor(1)).at(-1)).toBe('ReservationUsed')
  expect(types('seller', derivePubkey(secret(1))).at(-1)).toBe('OutcomeRecorded')
})

test('a seller with coins for two channels sells two, once its funds are attested after the funding of the first', async () => {
  const { attest, decide, publish, ports, types } = await openMarketFixture(['9000000'])
  const order1 = orderIdOf(1)
  const tell = (type: string, v: number, data: object) => publish(channelContract.category, order1, { type, v, data }, 0)
  const lastTypeOf = async (n: number) => {
    await decide(find(orderIdOf(n)))
    return types('match', orderIdOf(n)).at(-1)
  }
  const attestAfter = async (ms: number, confirmedSat: string) => {
    await ports.clock.sleep(ms)
    await attest(1, confirmedSat)
  }
  await attestAfter(1000, '2000000')
  expect(await lastTypeOf(1)).toBe('Matched')
  await attestAfter(1000, '1000000')
  expect(await lastTypeOf(2)).toBe('Unmatched')
  await tell('FundingSeen', 3, { attempt: 1 })
  await tell('FundingMissing', 2, { attempt: 1 })
  expect(await lastTypeOf(3)).toBe('Unmatched')
  await tell('FundingSeen', 3, { attempt: 1 })
  await tell('WatchStarted', 2, { attempt: 1, outpointNumber: 2 })
  expect(await lastTypeOf(4)).toBe('Unmatched')
  await tell('FundingSeen', 3, { attempt: 1 })
  expect(await lastTypeOf(5)).toBe('Unmatched')
  await attestAfter(MAX_CLOCK_DIFFERENCE_MS, '1000000')
  expect(await lastTypeOf(6)).toBe('Unmatched')
  await attestAfter(1, '1000000')
  await attestAfter(10_000, '1000000')
  expect(types('seller', derivePubkey(secret(1))).filter((type) => type === 'FundsAttested')).toHaveLength(3)
  expect(await lastTypeOf(7)).toBe('Matched')
  expect(await lastTypeOf(8)).toBe('Unmatched')
})

test('a seller whose funds were attested before a funding sells no coins of that funding', async () => {
  const { attest, decide, publish, ports, types } = await openMarketFixture(['9000000'])
  const lastTypeOf = async (n: number) => {
    await decide(find(orderIdOf(n)))
    return types('match', orderIdOf(n)).at(-1)
  }
  await ports.clock.sleep(1000)
  await attest(1, '2000000')
  expect(await lastTypeOf(1)).toBe('Matched')
  await publish(channelContract.category, orderIdOf(1), { type: 'FundingSeen', v: 3, data: { attempt: 1 } }, 0)
  expect(await lastTypeOf(2)).toBe('Matched')
  expect(await lastTypeOf(3)).toBe('Unmatched')
  // Signed before the broadcast, by a clock that runs ahead.
  await attest(1, '2000000', ports.clock.now() + MAX_CLOCK_DIFFERENCE_MS)
  expect(await lastTypeOf(4)).toBe('Unmatched')
})

test('a search waits for a silent seller that could serve, for twice the window of attestations', async () => {
  const { attest, decideLate, ports, runJobs, types } = await openMarketFixture(['2500000', '900000'])
  const liveMs = ports.config.liveSeconds * 1000
  await runJobs(2 * liveMs)
  expect(types('seller', derivePubkey(secret(1)))).toEqual(['SellerAppeared', 'SellerFellSilent'])
  // Each try has the time of the first, as for a message that the bus delivers again.
  const sentAt = ports.clock.now()
  const findFrom = (n: number) => decideLate(find(orderIdOf(n)), sentAt)
  await expect(findFrom(1)).rejects.toThrow(Fault)
  // The second seller's offer is too small.
  await attest(2)
  await expect(findFrom(1)).rejects.toThrow(Fault)
  await attest(1)
  await findFrom(1)
  expect(types('match', orderIdOf(1))).toEqual(['SearchBegun', 'Matched'])
  await runJobs(1.5 * liveMs)
  await expect(findFrom(2)).rejects.toThrow(Fault)
  await ports.clock.sleep(0.5 * liveMs)
  await findFrom(2)
  expect(types('match', orderIdOf(2))).toEqual(['SearchBegun', 'Unmatched'])
})

test('a search does not wait for a silent seller that was tried, or that could not serve', async () => {
  const { decide, ports, runJobs, types } = await openMarketFixture(['900000', '1500000'])
  await runJobs(2 * ports.config.liveSeconds * 1000)
  await decide(find(orderIdOf(1), 2, [uuidFor(2)]))
  expect(types('match', orderIdOf(1))).toEqual(['SearchBegun', 'Unmatched'])
})

test('a manual order needs the standing acceptance until it has capacity, unless its seller has approved it', async () => {
  const { decide, types } = await openMarketFixture(['5000000'])
  const findOnly = (n: number, autoAccepted: boolean) =>
    decide(
      command<MatchTarget>('match', orderIdOf(n), {
        type: 'FindSeller',
        data: { attempt: 1, need, first, only: true, autoAccepted, tried: [] },
      }),
    )
  await findOnly(1, true)
  await decide(command<OfferTarget>('offer', uuidFor(1), { type: 'UpdateOffer', data: { by: uuidFor(1), autoAccept: false } }))
  await findOnly(2, true)
  await findOnly(3, false)
  expect([1, 2, 3].map((n) => types('match', orderIdOf(n)).at(-1))).toEqual(['Matched', 'Unmatched', 'Matched'])
})

test('a search records the funding fees if an offer charges for them', async () => {
  const feesOf = async (onchainMultiplier: number) => {
    const { decide, all } = await openMarketFixture(['1000000'], { onchainMultiplier })
    await decide(find(orderIdOf(1)))
    return all.find(({ fact }) => fact.type === 'SearchBegun')?.fact.data
  }
  expect(await feesOf(1)).toMatchObject({ fundingFees: { LOW: '154', MEDIUM: '154', HIGH: '154' } })
  expect(await feesOf(0)).toMatchObject({ fundingFees: null })
})

test('a search with an outdated book takes the next candidate', async () => {
  const fixture = await openMarketFixture(['1000000', '1000000'])
  // Both searches read the book before either has reserved.
  const both = await Promise.all([fixture.decide(find(orderIdOf(1))), fixture.decide(find(orderIdOf(2)))])
  expect(both.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
  const offers = fixture.all.flatMap(({ category, aggregateId, fact }) =>
    category === 'offer' && fact.type === 'CapacityReserved' ? [aggregateId] : [],
  )
  expect(offers.toSorted()).toEqual([uuidFor(1), uuidFor(2)])
})

test('the outcome of an attempt reaches its seller', async () => {
  const { decide, publish, all } = await openMarketFixture(['5000000', '5000000'])
  await decide(find(orderIdOf(1)))
  const fact = (type: string, data: object, v = 1) => publish(orderContract.category, orderIdOf(1), { type, v, data }, 0)
  await fact('AttemptFailed', { attempt: 1, reason: 'no outpoint', blamed: true })
  await decide(
    command<MatchTarget>('match', orderIdOf(1), {
      type: 'ReleaseMatch',
      data: { attempt: 1, requestNumber: 1, reason: 'replaced' },
    }),
  )
  await decide(find(orderIdOf(1), 2, [uuidFor(1)]))
  const invalid = { attempt: 2, reason: 'too small', lastHeight: false }
  // The output was spent, possibly by the buyer.
  await fact('InvalidChannelOpening', { ...invalid, blamed: false }, 2)
  expect(all.filter((event) => event.fact.type === 'OutcomeRecorded')).toHaveLength(1)
  await fact('InvalidChannelOpening', { ...invalid, blamed: true }, 2)
  const outcomes = all
    .filter((event) => event.fact.type === 'OutcomeRecorded')
    .map(({ aggregateId, fact: { data } }) => [aggregateId, data])
  expect(outcomes).toMatchObject([
    [derivePubkey(secret(1)), { attempt: 1, outcome: 'failed-to-open' }],
    [derivePubkey(secret(2)), { attempt: 2, outcome: 'invalid' }],
  ])
})

test('after a late outpoint was refused, the outcomes still go to the seller that opened', async () => {
  const { decide, publish, all } = await openMarketFixture(['5000000', '5000000'])
  const order1 = orderIdOf(1)
  await decide(find(order1))
  await decide(
    command<MatchTarget>('match', order1, { type: 'ReleaseMatch', data: { attempt: 1, requestNumber: 1, reason: 'replaced' } }),
  )
  await decide(find(order1, 2, [uuidFor(1)]))
  // The first seller submits a late outpoint, whose claim is then refused. The second seller has opened the channel.
  await decide(command<MatchTarget>('match', order1, { type: 'RenewReservation', data: { attempt: 1, requestNumber: 1 } }))
  await decide(
    command<MatchTarget>('match', order1, {
      type: 'ReleaseMatch',
      data: { attempt: 1, requestNumber: 2, reason: 'the claim was refused' },
    }),
  )
  await decide(command<MatchTarget>('match', order1, { type: 'UseMatch', data: { attempt: 2 } }))
  const broken = { attempt: 2, outpoint: `${'1'.repeat(64)}:0`, what: 'base-fee', reason: 'x', tipHeight: 9 }
  await publish(channelContract.category, order1, { type: 'PromiseBroken', v: 1, data: broken }, 0)
  const finished = { attempt: 2, early: false, closedBy: null }
  await publish(orderContract.category, order1, { type: 'MonitoringFinished', v: 1, data: finished }, 1)
  const outcomes = all
    .filter((event) => event.fact.type === 'OutcomeRecorded')
    .map(({ aggregateId, fact: { data } }) => [aggregateId, (data as { outcome: string }).outcome])
  expect(outcomes).toEqual(['valid', 'promise-broken', 'lease-kept'].map((outcome) => [derivePubkey(secret(2)), outcome]))
})
