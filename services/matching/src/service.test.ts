import { uuid } from '@penstock/testkit/book.ts'
import assert from 'node:assert/strict'
import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import { sign } from '@penstock/bitcoin/message-signature.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import type { Need } from '@penstock/contracts/matching.ts'
import { channel } from '@penstock/contracts/channel.ts'
import { match as matchContract, offer as offerContract, seller as sellerContract } from '@penstock/contracts/matching.ts'
import { order } from '@penstock/contracts/order.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { ask, type Ask, type Event, type Outcome } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { matching } from './service.ts'

const START = 1_800_000_000_000
const secret = (n: number) => new Uint8Array(32).fill(n)

/** The service with its facts delivered at once, a clock that only moves by sleeping, and counters in memory. */
function world() {
  const service = matching()
  const streams = new Map<string, Fact[]>()
  const all: Event[] = []
  const seen = new Map<string, number>()
  const touch: Limits['touch'] = async (key, now) => void seen.set(key, now)
  let now = START
  let commands = 0
  const whenNow: (readonly [number, () => Promise<unknown>])[] = []
  const ports = {
    graph: { between: () => Promise.resolve([]) },
    chain: { feeRate: async () => 1 },
    clock: {
      now: () => now,
      monotonicMs: () => now,
      sleep: async (ms: number) => {
        now += ms
        for (const [at, act] of whenNow.splice(0)) {
          if (at <= now) await act()
          else whenNow.push([at, act])
        }
      },
    },
    ids: { uuid: () => uuid(++commands), random: (bytes: number) => new Uint8Array(bytes) },
    limits: {
      touch,
      lastSeen: async (key: string) => seen.get(key),
      hit: async () => ({ allowed: true as const, remaining: 1 }),
      takeBack: async () => undefined,
    },
    config: readConfig({}),
    log: openLog('silent'),
  }
  const stateOf = (category: string, id: string) => {
    const aggregate = service.aggregates.find(({ contract }) => contract.category === category)
    assert.ok(aggregate, category)
    const facts = streams.get(`${category}-${id}`) ?? []
    return { aggregate, facts, state: facts.reduce(aggregate.decider.evolve, aggregate.decider.initial) }
  }
  const publish = async (category: string, id: string, fact: Fact, revision: number): Promise<void> => {
    const event: Event = {
      id: uuid(++commands),
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
    for (const view of service.memory) if (view.from.some((contract) => contract.category === category)) view.apply(event)
    for (const { contract, type, react } of service.reactions)
      if (contract.category === category && type === fact.type) for (const asked of react(event)) await decide(asked)
  }
  const decide = async ({ category, id, command: { type, data } }: Ask): Promise<Outcome> => {
    const extra = await stateOf(category, id).aggregate.enrich?.[type]?.(data as never, { id, at: now, ports })
    const { aggregate, facts, state } = stateOf(category, id) // loaded last, so that nothing comes between it and the append
    const command: Command = { type, id: uuid(++commands), at: now, data: { ...data, ...extra } }
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
    const pubkey = pubkeyOf(secret(n))
    const signature = sign(secret(n), fundsAttestationText({ pubkey, confirmedSats: BigInt(confirmedSat), at }))
    return decide(ask(sellerContract, pubkey, 'Attest', { accountId: uuid(n), pubkey, confirmedSat, at, signature }))
  }
  const types = (category: string, id: string) => stateOf(category, id).facts.map(({ type }) => type)
  /** Lets the service's own loop run until so much time has passed. */
  const runJobs = async (ms: number) => {
    const stop = new AbortController()
    const until = now + ms
    whenNow.push([until, async () => stop.abort()])
    const context = {
      ports,
      decide,
      load: async () => ({ state: undefined, revision: 'none' as const }),
      send: async () => {},
      unfinished: async () => [],
      advance: async () => {},
      alone: async (_: string, work: (held: AbortSignal) => Promise<void>, held: AbortSignal) => work(held),
    }
    await Promise.all(service.jobs.map(({ run }) => run(context, stop.signal)))
  }
  return {
    decide,
    publish,
    attest,
    types,
    runJobs,
    later: (ms: number, act: () => Promise<unknown>) => whenNow.push([now + ms, act]),
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
async function market(sizes: readonly string[], promised: Partial<typeof promises> = {}) {
  const made = world()
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
    await made.decide(ask(offerContract, uuid(n), 'CreateOffer', { ...terms, accountId: uuid(n), pubkey: pubkeyOf(secret(n)) }))
    await made.attest(n)
  }
  return made
}
const need: Need = {
  sizeSat: '1000000',
  destination: { pubkey: pubkeyOf(secret(99)), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 4320,
  sellerBudgetMsat: '2000000',
  ranking: 'cheapest',
}
const first = {
  offerId: uuid(1),
  sellerPubkey: pubkeyOf(secret(1)),
  sellerAccountId: uuid(1),
  rails: false,
  sellerAmountMsat: '2000000',
  promises,
}
const find = (orderId: string, attempt = 1, tried: string[] = []) =>
  ask(matchContract, orderId, 'FindSeller', { attempt, need, first, only: false, tried })
const orderIs = (n: number) => uuid(500 + n)

test('orders get capacity until there is none, and what is given back serves the next', async () => {
  const { decide, types } = await market(['1500000', '1000000'])
  for (const n of [1, 2, 3]) await decide(find(orderIs(n)))
  expect(types('match', orderIs(1))).toEqual(['SearchBegun', 'Matched'])
  expect(types('match', orderIs(2))).toEqual(['SearchBegun', 'Matched'])
  expect(types('match', orderIs(3))).toEqual(['SearchBegun', 'Unmatched'])
  expect(types('offer', uuid(1))).toEqual(['OfferCreated', 'CapacityReserved'])
  await decide(ask(matchContract, orderIs(1), 'ReleaseMatch', { attempt: 1, question: 1, reason: 'over' }))
  expect(types('offer', uuid(1)).at(-1)).toBe('ReservationReleased')
  await decide(find(orderIs(4)))
  expect(types('match', orderIs(4))).toEqual(['SearchBegun', 'Matched'])
  await decide(ask(matchContract, orderIs(1), 'Rereserve', { attempt: 1, question: 1 }))
  expect(types('match', orderIs(1)).slice(-2)).toEqual(['RereservationAsked', 'RereservationRefused'])
  await decide(ask(matchContract, orderIs(4), 'UseMatch', { attempt: 1 }))
  expect(types('offer', uuid(1)).at(-1)).toBe('ReservationUsed')
  expect(types('seller', pubkeyOf(secret(1))).at(-1)).toBe('OutcomeRecorded')
})

test('what a funding costs is kept with a search where an offer charges for it', async () => {
  const feesOf = async (onchainMultiplier: number) => {
    const { decide, all } = await market(['1000000'], { onchainMultiplier })
    await decide(find(orderIs(1)))
    return all.find(({ fact }) => fact.type === 'SearchBegun')?.fact.data
  }
  expect(await feesOf(1)).toMatchObject({ fundingFees: { LOW: '154', MEDIUM: '154', HIGH: '154' } })
  expect(await feesOf(0)).toMatchObject({ fundingFees: null })
})

test('a search whose book is behind takes the next candidate', async () => {
  const made = await market(['1000000', '1000000'])
  // Both look at the book before either has reserved.
  const both = await Promise.all([made.decide(find(orderIs(1))), made.decide(find(orderIs(2)))])
  expect(both.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
  const offers = made.all.flatMap(({ category, aggregateId, fact }) =>
    category === 'offer' && fact.type === 'CapacityReserved' ? [aggregateId] : [],
  )
  expect(offers.toSorted()).toEqual([uuid(1), uuid(2)])
})

test('what became of an order reaches the seller of its attempt', async () => {
  const { decide, publish, all } = await market(['5000000', '5000000'])
  await decide(find(orderIs(1)))
  const fact = (type: string, data: object, v = 1) => publish(order.category, orderIs(1), { type, v, data }, 0)
  await fact('AttemptFailed', { attempt: 1, reason: 'no outpoint', blamed: true })
  await decide(ask(matchContract, orderIs(1), 'ReleaseMatch', { attempt: 1, question: 1, reason: 'replaced' }))
  await decide(find(orderIs(1), 2, [uuid(1)]))
  const invalid = { attempt: 2, reason: 'too small', lastHeight: false }
  // Somebody spent the output: it may have been the buyer.
  await fact('InvalidChannelOpening', { ...invalid, blamed: false }, 2)
  expect(all.filter((event) => event.fact.type === 'OutcomeRecorded')).toHaveLength(1)
  await fact('InvalidChannelOpening', { ...invalid, blamed: true }, 2)
  const outcomes = all
    .filter((event) => event.fact.type === 'OutcomeRecorded')
    .map(({ aggregateId, fact: { data } }) => [aggregateId, data])
  expect(outcomes).toMatchObject([
    [pubkeyOf(secret(1)), { attempt: 1, outcome: 'failed-to-open' }],
    [pubkeyOf(secret(2)), { attempt: 2, outcome: 'invalid' }],
  ])
})

test('a late outpoint that came to nothing leaves the outcomes with whoever opened', async () => {
  const { decide, publish, all } = await market(['5000000', '5000000'])
  const order1 = orderIs(1)
  await decide(find(order1))
  await decide(ask(matchContract, order1, 'ReleaseMatch', { attempt: 1, question: 1, reason: 'replaced' }))
  await decide(find(order1, 2, [uuid(1)]))
  await decide(ask(matchContract, order1, 'Rereserve', { attempt: 1, question: 1 }))
  await decide(ask(matchContract, order1, 'ReleaseMatch', { attempt: 1, question: 2, reason: 'the claim was refused' }))
  await decide(ask(matchContract, order1, 'UseMatch', { attempt: 2 }))
  const broken = { attempt: 2, outpoint: `${'1'.repeat(64)}:0`, what: 'base-fee', reason: 'x', tipHeight: 9 }
  await publish(channel.category, order1, { type: 'PromiseBroken', v: 1, data: broken }, 0)
  const finished = { attempt: 2, early: false, closedBy: null }
  await publish(order.category, order1, { type: 'MonitoringFinished', v: 1, data: finished }, 1)
  const outcomes = all
    .filter((event) => event.fact.type === 'OutcomeRecorded')
    .map(({ aggregateId, fact: { data } }) => [aggregateId, (data as { outcome: string }).outcome])
  expect(outcomes).toEqual(['valid', 'promise-broken', 'lease-kept'].map((outcome) => [pubkeyOf(secret(2)), outcome]))
})

test('a seller counts as live for a window after its last heartbeat', async () => {
  const { attest, later, runJobs, types } = await market(['5000000'])
  const seller = pubkeyOf(secret(1))
  later(10_000, () => attest(1))
  later(20_000, () => attest(1))
  await runJobs(49_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared'])
  await runJobs(40_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
  await attest(1)
  expect(types('seller', seller).at(-1)).toBe('SellerAppeared')
})

test('after a start everybody has a window, and a repeated attestation keeps nobody alive', async () => {
  const { attest, later, ports, runJobs, types } = await market(['5000000'])
  const seller = pubkeyOf(secret(1))
  await ports.clock.sleep(3_600_000) // down for an hour
  await runJobs(27_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared'])
  await attest(1)
  const at = ports.clock.now()
  for (const ms of [10_000, 20_000, 30_000]) later(ms, () => attest(1, '50000000', at))
  await runJobs(36_000)
  expect(types('seller', seller)).toEqual(['SellerAppeared', 'SellerFellSilent'])
})

test('a wall clock that is set ahead by an hour after a start silences nobody before its window is over', async () => {
  const { attest, later, ports, runJobs, types } = await market(['5000000'])
  const { now } = ports.clock
  ports.clock.now = () => now() + 3_600_000
  for (const ms of [9000, 18_000, 27_000]) later(ms, () => attest(1))
  await runJobs(36_000)
  expect(types('seller', pubkeyOf(secret(1)))).toEqual(['SellerAppeared'])
})

test('a heartbeat that somebody else signed keeps nobody alive and changes nothing', async () => {
  const { decide, ports, types } = await market([])
  const pubkey = pubkeyOf(secret(1))
  const data = { accountId: uuid(1), pubkey, confirmedSat: '1', at: START, signature: 'y'.repeat(104) }
  expect(await decide(ask(sellerContract, pubkey, 'Attest', data))).toMatchObject({
    outcome: 'refused',
    code: 'ATTESTATION_SIGNATURE',
  })
  expect(await ports.limits.lastSeen(`seller-heartbeat/${pubkey}`)).toBeUndefined()
  expect(types('seller', pubkey)).toEqual([])
})
