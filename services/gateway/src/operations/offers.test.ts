import { hashCredential, newCredential } from '@penstock/runtime/credentials.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { BUYER_URI } from '../fake-market.contract.ts'
import { at, type Stage, stage } from '../stage.contract.ts'

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

let market: Stage
let key: string
let strangersKey: string
beforeEach(async () => {
  market = await stage()
  const { ids, pepper } = market.gateway
  ;[key, strangersKey] = [newCredential('pak_', ids), newCredential('pak_', ids)]
  for (const [account, one] of [
    [ACCOUNT, key],
    [STRANGER, strangersKey],
  ] as const)
    await market.happens('account', account, [
      {
        type: 'ApiKeyCreated',
        data: {
          keyId: account,
          keyHash: hashCredential(pepper, one),
          prefix: 'pak_',
          suffix: 'x',
          nameRecord: null,
          expiresAt: null,
        },
      },
    ])
  await market.happens('account', ACCOUNT, [{ type: 'NodeConnected', data: { pubkey: PUBKEY } }])
  market.answers(async (ask, options) => {
    if (ask.command.type === 'CreateOffer')
      await market.happens('offer', ask.id, [{ type: 'OfferCreated', data: ask.command.data }], options.commandId)
    else if (ask.command.type === 'ToggleOffer')
      await market.happens('offer', ask.id, [{ type: 'OfferDisabled', data: {} }], options.commandId)
    else await market.outcome(ask, options, null)
  })
})
afterEach(() => market.close())

const create = async (input: object = {}): Promise<string> => {
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms, ...input } }, key)
  assert.equal(answer.errors, undefined)
  return String(at(answer, 'market.offer.create.offer_id'))
}

test('an offer is in the book when its owner is answered', async () => {
  const id = await create({ pubkey: PUBKEY.toUpperCase() })
  const book = await market.gql(OFFERS)
  assert.deepEqual(at(book, 'market.offer.offers'), {
    total_count: 1,
    pagination: { limit: 10, offset: 0 },
    list: [{ id, status: 'ENABLED', available_size: '5000000', locked_size: '0', seller: { live: false, rails: false } }],
  })
})

test('what is reserved and sold leaves what is available', async () => {
  const id = await create()
  const reservation = { orderId: ACCOUNT, attempt: 1, round: 0, sizeSat: '1000000' }
  await market.happens('offer', id, [
    { type: 'CapacityReserved', data: reservation },
    { type: 'CapacityReserved', data: { ...reservation, attempt: 2, sizeSat: '700000' } },
  ])
  const sizes = async () => at(await market.gql(OFFERS), 'market.offer.offers.list.0.available_size')
  assert.equal(await sizes(), '3300000')
  await market.happens('offer', id, [
    { type: 'ReservationUsed', data: reservation },
    { type: 'ReservationReleased', data: { ...reservation, attempt: 2, sizeSat: '700000', reason: 'x' } },
  ])
  assert.equal(await sizes(), '4000000')
})

test('a node that is not proven offers nothing', async () => {
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, strangersKey)
  assert.match(answer.errors?.[0]?.message ?? '', /Prove this node first/)
  assert.equal(market.sent.length, 0)
})

test('only what is said is changed, and only by the owner', async () => {
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

test('toggle takes it out of the book', async () => {
  const id = await create()
  assert.equal((await market.gql(TOGGLE, { input: { offer_id: id } }, key)).errors, undefined)
  assert.equal(at(await market.gql(OFFERS), 'market.offer.offers.list.0.status'), 'DISABLED')
  assert.equal(at(await market.gql(OFFERS, { filter: { status: 'ENABLED' } }), 'market.offer.offers.total_count'), 0)
})

test('the owner of the stream has the last word', async () => {
  market.answers((ask, options) =>
    market.outcome(ask, options, { code: 'min_size', message: 'min_size must be at most max_size.' }),
  )
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, key)
  assert.deepEqual(answer.errors?.[0]?.extensions, { code: 'GRAPHQL_VALIDATION_FAILED', reason: 'min_size' })
})

test('nobody answers: the caller is told to look', async () => {
  market.answers(() => undefined)
  const answer = await market.gql(CREATE, { input: { pubkey: PUBKEY, ...terms } }, key)
  assert.match(answer.errors?.[0]?.message ?? '', /did not answer in time/)
})

test('an attestation goes on with the time that was signed', async () => {
  const now = Date.now()
  for (const time of [`${now}`, new Date(now).toISOString()]) {
    const input = { pubkey: PUBKEY, confirmed_sats: '123456', at: time, signature: 'd'.repeat(104) }
    assert.equal(at(await market.gql(ATTEST, { input }, key), 'market.offer.attest.success'), true)
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

test('a seller shows whether it is live, and its score with what it is made of', async () => {
  await create()
  const seller = 'query { market { offer { offers { list { seller { live rails score outcomes { outcome count } } } } } } }'
  await market.happens('seller', PUBKEY, [
    { type: 'SellerAppeared', data: { accountId: ACCOUNT, confirmedSat: '1', at: 1 } },
    { type: 'RailsGranted', data: { by: 'op', reason: 'first' } },
    { type: 'OutcomeRecorded', data: { orderId: ACCOUNT, attempt: 1, outcome: 'valid', at: Date.now() } },
  ])
  const shown = at(await market.gql(seller), 'market.offer.offers.list.0.seller') as {
    live: boolean
    rails: boolean
    score: number
    outcomes: object[]
  }
  assert.deepEqual([shown.live, shown.rails, shown.outcomes], [true, true, [{ outcome: 'valid', count: 1 }]])
  assert.ok(shown.score > 0.5 && shown.score < 1)
  await market.happens('seller', PUBKEY, [{ type: 'SellerFellSilent', data: { lastSeenAt: 1 } }])
  assert.equal(at(await market.gql(seller), 'market.offer.offers.list.0.seller.live'), false)
})

test('pages go through the whole book', async () => {
  const ids = await Promise.all(Array.from({ length: 7 }, () => create()))
  const seen: unknown[] = []
  for (const offset of [0, 3, 6])
    seen.push(
      ...(at(await market.gql(OFFERS, { page: { limit: 3, offset } }), 'market.offer.offers.list') as { id: string }[]).map(
        ({ id }) => id,
      ),
    )
  assert.deepEqual(new Set(seen), new Set(ids))
})

test('one offer by its id; an unknown one says so', async () => {
  const id = await create({ conditions: [{ condition: 'NODE_CAPACITY', operator: 'GREATER_THAN', value: '100' }] })
  const one = (offer: string) =>
    market.gql(`{ market { offer { offer(offer_id: "${offer}") { id conditions { condition value } onchain_multiplier } } } }`)
  assert.deepEqual(at(await one(id), 'market.offer.offer'), {
    id,
    conditions: [{ condition: 'NODE_CAPACITY', value: '100' }],
    onchain_multiplier: 0,
  })
  assert.equal((await one(ACCOUNT)).errors?.[0]?.message, 'Offer not found')
  assert.equal((await one('x')).errors?.[0]?.message, 'Invalid ID')
})

test('the price of a dollar, and why there is none', async () => {
  const PRICE = '{ market { liquidity { liquidity_per_usd { sats usd } } } }'
  const price = async () => {
    const answer = await market.gql(PRICE)
    return answer.errors?.[0]?.message ?? at(answer, 'market.liquidity.liquidity_per_usd')
  }
  assert.match(String(await price()), /no price yet/)
  const set = (satsPerUsd: string, validUntil: number, when: number, day = '2026-11-20') =>
    market.happens(
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
  await set('310500', Date.now() + 60_000, noon)
  assert.deepEqual(await price(), { sats: '310500', usd: '310.50' })
  await set('1', Date.now() + 60_000, noon - 86_400_000, '2026-11-19')
  assert.deepEqual(await price(), { sats: '310500', usd: '310.50' })
  await set('2', Date.now() - 1, noon + 10)
  assert.match(String(await price()), /too old/)
  await market.happens(
    'price',
    '2026-11-20',
    [{ type: 'PriceWithdrawn', data: { reason: 'The sources differ by more than 2 %.' } }],
    undefined,
    30,
  )
  assert.equal(await price(), 'The sources differ by more than 2 %.')
})
