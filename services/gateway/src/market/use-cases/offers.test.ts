import type { Clock } from '@penstock/ports/clock.ts'
import { createInstantClock } from '@penstock/ports/instant-clock.fixture.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI } from '../fake-market.fixture.ts'
import { readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'

const PUBKEY = BUYER_URI.slice(0, 66)
const ACCOUNT = '20000000-0000-4000-8000-000000000001'
const STRANGER = '20000000-0000-4000-8000-000000000002'
const CREATE = 'mutation O($input: CreateOfferInput!) { market { offer { create(input: $input) { offer_id } } } }'
const UPDATE = 'mutation U($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'
const TOGGLE = 'mutation T($input: ToggleOfferInput!) { market { offer { toggle(input: $input) { offer_id } } } }'
const ATTEST = 'mutation A($input: AttestInput!) { market { offer { attest(input: $input) { success } } } }'
const OFFERS =
  'query B($page: PageInput, $filter: OfferFilterInput) { market { offer { offers(page: $page, filter: $filter) { total_count pagination { limit offset } list { id status available_size locked_size seller { live rails } } } } } }'
const terms = {
  total_size: '5000000',
  min_size: '500000',
  max_size: '2000000',
  min_block_length: 4320,
  fee_rate: 2000,
  base_fee: '500',
  fee_rate_cap: 500,
  base_fee_cap: '1000',
}

let market: GatewayHarness
let key: string
let strangersKey: string
beforeEach(() => openMarket())
async function openMarket(clock?: Clock): Promise<void> {
  market = await openGatewayHarness({ ...(clock && { clock }) })
  ;[key, strangersKey] = [await market.apiKey(ACCOUNT), await market.apiKey(STRANGER)]
  await market.projectFacts('account', ACCOUNT, [{ type: 'NodeConnected', data: { pubkey: PUBKEY } }])
  market.respondWith(async (ask, options) => {
    if (ask.command.type === 'CreateOffer')
      await market.projectFacts('offer', ask.id, [{ type: 'OfferCreated', data: ask.command.data }], options.commandId)
    else if (ask.command.type === 'ToggleOffer')
      await market.projectFacts('offer', ask.id, [{ type: 'OfferDisabled', data: {} }], options.commandId)
    else await market.projectOutcome(ask, options, null)
  })
}
afterEach(() => market.close())

const create = async (input: object = {}): Promise<string> => {
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms, ...input } }, key)
  assert.equal(answer.errors, undefined)
  return String(readPath(answer, 'market.offer.create.offer_id'))
}

test('a created offer is listed when its owner gets the answer', async () => {
  const id = await create({ pubkey: PUBKEY.toUpperCase() })
  const book = await market.gql(OFFERS)
  assert.deepEqual(readPath(book, 'market.offer.offers'), {
    total_count: 1,
    pagination: { limit: 10, offset: 0 },
    list: [{ id, status: 'ENABLED', available_size: '5000000', locked_size: '0', seller: { live: false, rails: false } }],
  })
})

test('the available size excludes reserved and sold capacity', async () => {
  const id = await create()
  const reservation = { orderId: ACCOUNT, attempt: 1, round: 0, sizeSat: '1000000' }
  await market.projectFacts('offer', id, [
    { type: 'CapacityReserved', data: reservation },
    { type: 'CapacityReserved', data: { ...reservation, attempt: 2, sizeSat: '700000' } },
  ])
  const sizes = async () => readPath(await market.gql(OFFERS), 'market.offer.offers.list.0.available_size')
  assert.equal(await sizes(), '3300000')
  await market.projectFacts('offer', id, [
    { type: 'ReservationUsed', data: reservation },
    { type: 'ReservationReleased', data: { ...reservation, attempt: 2, sizeSat: '700000', reason: 'x' } },
  ])
  assert.equal(await sizes(), '4000000')
})

test('an account cannot create an offer for a node that it has not proven', async () => {
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, strangersKey)
  assert.match(answer.errors?.[0]?.message ?? '', /Prove this node first/)
  assert.equal(market.sent.length, 0)
})

test('only the owner updates an offer, and an update changes only the given fields', async () => {
  const id = await create()
  assert.equal(
    (await market.gql(UPDATE, { input: { offer_id: id, base_fee: '7', onchain_priority: 'HIGH', conditions: [] } }, key)).errors,
    undefined,
  )
  assert.deepEqual(market.sent.at(-1)?.ask.command.data, {
    by: ACCOUNT,
    promises: { baseFeeSat: '7', onchainPriority: 'HIGH' },
    conditions: [],
  })
  const sent = market.sent.length
  for (const query of [UPDATE, TOGGLE]) {
    const answer = await market.gql(query, { input: { offer_id: id } }, strangersKey)
    assert.equal(answer.errors?.[0]?.message, 'Offer not found')
  }
  assert.equal(market.sent.length, sent)
})

test('an empty pubkey or size does not list the offers of all nodes and sizes', async () => {
  await create()
  const refuse = async (filter: object) => (await market.gql(OFFERS, { filter })).errors?.[0]?.message ?? ''
  assert.match(await refuse({ pubkey: '' }), /^filter\.pubkey must be/)
  assert.match(await refuse({ size: '' }), /^filter\.size must be/)
  assert.equal(readPath(await market.gql(OFFERS, { filter: { pubkey: null, size: null } }), 'market.offer.offers.total_count'), 1)
})

test('toggle disables an offer, and the filter for enabled offers excludes it', async () => {
  const id = await create()
  assert.equal((await market.gql(TOGGLE, { input: { offer_id: id } }, key)).errors, undefined)
  assert.equal(readPath(await market.gql(OFFERS), 'market.offer.offers.list.0.status'), 'DISABLED')
  assert.equal(readPath(await market.gql(OFFERS, { filter: { status: 'ENABLED' } }), 'market.offer.offers.total_count'), 0)
})

test('a refusal by the matching service is answered with its code', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'min_size', message: 'min_size must be at most max_size.' }),
  )
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, key)
  assert.deepEqual(answer.errors?.[0]?.extensions, { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'min_size' })
})

test('a command without an answer in time fails with a message that says so', async () => {
  await market.close()
  await openMarket(createInstantClock(NOW))
  market.respondWith(() => undefined)
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, key)
  assert.match(answer.errors?.[0]?.message ?? '', /did not answer in time/)
})

test('the Attest command contains the signed time', async () => {
  const now = NOW
  for (const time of [`${now}`, new Date(now).toISOString()]) {
    const input = { pubkey: PUBKEY, confirmed_sats: '123456', at: time, signature: 'd'.repeat(104) }
    assert.equal(readPath(await market.gql(ATTEST, { input }, key), 'market.offer.attest.success'), true)
    assert.deepEqual(market.sent.at(-1)?.ask.command.data, {
      accountId: ACCOUNT,
      pubkey: PUBKEY,
      confirmedSat: '123456',
      at: now,
      signature: 'd'.repeat(104),
    })
  }
  assert.deepEqual(market.sent.at(-1)?.ask.id, PUBKEY)
})

test('a seller has its liveness, its score and the outcomes behind the score', async () => {
  await create()
  const seller = 'query { market { offer { offers { list { seller { live rails score outcomes { outcome count } } } } } } }'
  await market.projectFacts('seller', PUBKEY, [
    { type: 'SellerAppeared', data: { accountId: ACCOUNT, confirmedSat: '1', at: 1 } },
    { type: 'RailsGranted', data: { by: 'op', reason: 'first' } },
    { type: 'OutcomeRecorded', data: { orderId: ACCOUNT, attempt: 1, outcome: 'valid', at: NOW } },
  ])
  const shown = readPath(await market.gql(seller), 'market.offer.offers.list.0.seller') as {
    live: boolean
    rails: boolean
    score: number
    outcomes: object[]
  }
  assert.deepEqual([shown.live, shown.rails, shown.outcomes], [true, true, [{ outcome: 'valid', count: 1 }]])
  assert.ok(shown.score > 0.5 && shown.score < 1)
  await market.projectFacts('seller', PUBKEY, [{ type: 'SellerFellSilent', data: { lastSeenAt: 1 } }])
  assert.equal(readPath(await market.gql(seller), 'market.offer.offers.list.0.seller.live'), false)
})

test('consecutive pages list every offer', async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => create()))
  const seen: unknown[] = []
  for (const offset of [0, 3, 6])
    seen.push(
      ...(readPath(await market.gql(OFFERS, { page: { limit: 3, offset } }), 'market.offer.offers.list') as { id: string }[]).map(
        ({ id }) => id,
      ),
    )
  assert.deepEqual(new Set(seen), new Set(ids))
})

test('an offer is found by its id, and an unknown id is refused', async () => {
  const id = await create({ conditions: [{ condition: 'NODE_CAPACITY', operator: 'GREATER_THAN', value: '100' }] })
  const fetchOffer = (offer: string) =>
    market.gql(`{ market { offer { offer(offer_id: "${offer}") { id conditions { condition value } onchain_multiplier } } } }`)
  assert.deepEqual(readPath(await fetchOffer(id), 'market.offer.offer'), {
    id,
    conditions: [{ condition: 'NODE_CAPACITY', value: '100' }],
    onchain_multiplier: 0,
  })
  assert.equal((await fetchOffer(ACCOUNT)).errors?.[0]?.message, 'Offer not found')
  assert.equal((await fetchOffer('x')).errors?.[0]?.message, 'Invalid ID')
})

test('liquidity_per_usd is the newest price, or the reason why no price is available', async () => {
  const PRICE = '{ market { liquidity { liquidity_per_usd { sats usd } } } }'
  const price = async () => {
    const answer = await market.gql(PRICE)
    return answer.errors?.[0]?.message ?? readPath(answer, 'market.liquidity.liquidity_per_usd')
  }
  assert.match(String(await price()), /no price yet/)
  const setPrice = (satsPerUsd: string, validUntil: number, when: number, day = '2026-11-20') =>
    market.projectFacts(
      'price',
      day,
      [
        {
          type: 'PriceSet',
          data: { satsPerUsd, usdPerUsd: '310.50', rate: { centsPerBtc: '1', at: 1, samples: [] }, validUntil },
        },
      ],
      undefined,
      when,
    )
  const noon = Date.parse('2026-11-20T12:00:00Z')
  await setPrice('310500', NOW + 60_000, noon)
  assert.deepEqual(await price(), { sats: '310500', usd: '310.50' })
  await setPrice('1', NOW + 60_000, noon - 86_400_000, '2026-11-19')
  assert.deepEqual(await price(), { sats: '310500', usd: '310.50' })
  await setPrice('2', NOW - 1, noon + 10)
  assert.match(String(await price()), /too old/)
  await market.projectFacts(
    'price',
    '2026-11-20',
    [{ type: 'PriceWithdrawn', data: { reason: 'The sources differ by more than 2 %.' } }],
    undefined,
    30,
  )
  assert.equal(await price(), 'The sources differ by more than 2 %.')
})
