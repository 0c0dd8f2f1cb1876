import { command, type AddressedCommand } from '@penstock/kernel/process.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import assert from 'node:assert/strict'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { OrderRequirements } from '@penstock/contracts/matching.ts'
import { channelContract } from '@penstock/contracts/channel.ts'
import type { SellerTarget, OfferTarget, MatchTarget } from '@penstock/contracts/matching.ts'
import { orderContract } from '@penstock/contracts/order.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import { readConfig } from '@penstock/config/config.ts'
import { MAX_CLOCK_DIFFERENCE_MS } from '@penstock/market/funded-reservations.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import type { Event, CommandOutcome } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { matchingService } from './service.ts'

const START = 1_800_000_000_000
const secret = (n: number) => new Uint8Array(32).fill(n)

/** The service with immediate delivery of facts, counters in memory, and a clock that advances only during `sleep`. */
function openFixture() {
  const service = matchingService()
  const streams = new Map<string, Fact[]>()
  const all: Event[] = []
  const seen = new Map<string, number>()
  const touch: Limits['touch'] = async (key, now) => void seen.set(key, now)
  let now = START
  let commands = 0
  const scheduled: (readonly [number, () => Promise<unknown>])[] = []
  const ports = {
    graph: { between: () => Promise.resolve([]) },
    chain: { feeRate: async () => 1 },
    clock: {
      now: () => now,
      monotonicMs: () => now,
      sleep: async (ms: number) => {
        now += ms
        for (const [at, act] of scheduled.splice(0)) {
          if (at <= now) await act()
          else scheduled.push([at, act])
        }
      },
    },
    ids: { uuid: () => uuidFor(++commands), random: (bytes: number) => new Uint8Array(bytes) },
    limits: {
      touch,
      lastSeen: async (key: string) => seen.get(key),
      hit: async () => ({ allowed: true as const, remaining: 1 }),
      takeBack: async () => undefined,
    },
    config: readConfig({}),
    log: openLogger('silent'),
  }
  const stateOf = (category: string, id: string) => {
    const aggregate = service.aggregates.find(({ contract }) => contract.category === category)
    assert.ok(aggregate, category)
    const facts = streams.get(`${category}-${id}`) ?? []
    return { aggregate, facts, state: facts.reduce(aggregate.decider.evolve, aggregate.decider.initial) }
  }
  const publish = async (category: string, id: string, fact: Fact, revision: number): Promise<void> => {
    const event: Event = {
      id: uuidFor(++commands),
      category,
      aggregateId: id,
      revision,
      position: 0n,
      at: now,
      commandId: '',
      correlation: id,
      fact,
    }
    all.push(event)
    for (const view of service.memoryViews) if (view.from.some((contract) => contract.category === category)) view.apply(event)
    for (const { contract, type, react } of service.reactions)
      if (contract.category === category && type === fact.type) for (const addressed of react(event)) await decide(addressed)
  }
  const decide = async ({ category, id, command: { type, data } }: AddressedCommand): Promise<CommandOutcome> => {
    const extra = await stateOf(category, id).aggregate.enrich?.[type]?.(data as never, { id, at: now, ports })
    const { aggregate, facts, state } = stateOf(category, id) // loaded last, so that no other command runs in between
    const command: Command = { type, id: uuidFor(++commands), at: now, data: { ...data, ...extra } }
    const decision = aggregate.decider.decide(state, command)
    if ('refused' in decision) return { outcome: 'refused', ...decision.refused }
    streams.set(`${category}-${id}`, [...facts, ...decision.facts])
    for (const [index, fact] of decision.facts.entries()) await publish(category, id, fact, facts.length + index)
    if (decision.facts.length > 0) await advance(category, id)
    return { outcome: 'accepted', revision: facts.length }
  }
  const advance = async (category: string, id: string): Promise<void> => {
    const { aggregate, state } = stateOf(category, id)
    for (const next of aggregate.process?.(state, id) ?? []) if (next.kind === 'command') await decide({ ...next })
  }
  const attest = (n: number, confirmedSat = '50000000', at = now) => {
    const pubkey = derivePubkey(secret(n))
    const signature = signMessage(secret(n), formatFundsAttestation({ pubkey, confirmedSats: BigInt(confirmedSat), at }))
    return decide(
      command<SellerTarget>('seller', pubkey, {
        type: 'Attest',
        data: { accountId: uuidFor(n), pubkey, confirmedSat, at, signature },
      }),
    )
  }
  const types = (category: string, id: string) => stateOf(category, id).facts.map(({ type }) => type)
  /** Runs the service's jobs for `ms` milliseconds of the test clock. */
  const runJobs = async (ms: number) => {
    const stop = new AbortController()
    const until = now + ms
    scheduled.push([until, async () => stop.abort()])
    const context = {
      ports,
      decide,
      load: async () => ({ state: undefined, revision: 'none' as const }),
      send: async () => {},
      listOpenStreams: async () => [],
      runProcess: async () => {},
      withLease: async (_: string, work: (held: AbortSignal) => Promise<void>, held: AbortSignal) => work(held),
    }
    await Promise.all(service.jobs.map(({ run }) => run(context, stop.signal)))
  }
  return {
    decide,
    publish,
    attest,
    types,
    runJobs,
    schedule: (ms: number, act: () => Promise<unknown>) => scheduled.push([now + ms, act]),
    all,
    ports,
  }
}

const promises = {
  baseFeeSat: '0',
  feeRatePpm: 2000,
  baseFeeCapSat: '1',
  feeRateCapPpm: 1,
  minBlockLength: 5000,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}
async function openMarketFixture(sizes: readonly string[], promised: Partial<typeof promises> = {}) {
  const fixture = openFixture()
  for (const [index, totalSizeSat] of sizes.entries()) {
    const n = index + 1
    const terms = {
      totalSizeSat,
      minSizeSat: '100000',
      maxSizeSat: totalSizeSat,
      promises: { ...promises, ...promised },
      conditions: [],
      assetId: null,
      autoAccept: true,
    }
    await fixture.decide(
      command<OfferTarget>('offer', uuidFor(n), {
        type: 'CreateOffer',
        data: { ...terms, accountId: uuidFor(n), pubkey: derivePubkey(secret(n)) },
      }),
    )
    await fixture.attest(n)
  }
  return fixture
}
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
