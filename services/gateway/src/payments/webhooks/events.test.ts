import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type GraphqlResult, NOW, readPath } from '../../gateway-harness.fixture.ts'
import { codeOf } from '../keys/service-keys.fixture.ts'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import { FIND_EVENT, LIST_EVENTS, openWebhooksHarness, REDELIVER, type WebhooksHarness } from './webhooks.fixture.ts'

type EventRecord = { readonly id: string; readonly deliveries: readonly object[] }
type EventList = { readonly total_count: number; readonly pagination: object; readonly list: readonly EventRecord[] }

const FIND = 'payment.webhook_event.find_one'
const LIST = 'payment.webhook_event.find_many'

let market: WebhooksHarness
beforeEach(async () => void (market = await openWebhooksHarness()))
afterEach(() => market.harness.close())

const find = (id: string) => market.call<EventRecord>(FIND_EVENT, { id }, FIND)
const toInput = (more: object) => ({ input: { environment_id: market.environmentId, ...more } })
const list = (more: object = {}) => market.call<EventList>(LIST_EVENTS, toInput(more), LIST)
const listIds = async (filter: object = {}) => (await list({ filter })).list.map(({ id }) => id)
const isoOf = (time: number): string => new Date(time).toISOString()
const messageOf = ({ errors }: GraphqlResult) => errors?.[0]?.message

/** Begins the one attempt that is due at an endpoint. */
const begin = async (endpointId: string, now: number) => {
  const [attempt] = await market.log.begin([{ endpointId, count: 1 }], now)
  return attempt ?? assert.fail('no attempt is due')
}

describe('webhook_event.find_one', () => {
  test('finds an event by its id, and by the id in its body', async () => {
    const event = await market.recordEvent({ body: '{"amount":"1000"}' })
    const expected = {
      id: event.id,
      event_type: 'payment.completed',
      environment_id: market.environmentId,
      wallet_id: market.walletId,
      transaction_id: event.transactionId,
      idempotency_key: `payment.completed:${event.transactionId}`,
      payload: '{"amount":"1000"}',
      created_at: isoOf(NOW),
      deliveries: [],
    }
    for (const id of [event.id, event.envelopeId]) assert.deepEqual(await find(id), expected)
  })
  test('shows a test without a wallet and a transaction', async () => {
    const { id } = await market.recordEvent({ type: 'webhook.test', walletId: null, transactionId: null })
    const answer = await market.gql(FIND_EVENT, { id })
    assert.deepEqual([readPath(answer, `${FIND}.wallet_id`), readPath(answer, `${FIND}.transaction_id`)], [null, null])
  })
  test('shows no body after its deletion', async () => {
    const { id } = await market.recordEvent()
    await market.recordChanges({ kind: 'wallet-deleted', walletId: market.walletId })
    assert.equal(readPath(await market.gql(FIND_EVENT, { id }), `${FIND}.payload`), null)
  })
  test('shows each attempt oldest first, and the one that is due', async () => {
    const { id: endpointId } = await market.create()
    await market.recordEndpoint(endpointId)
    const [attemptId, nextId] = [market.harness.gateway.ids.uuid(), market.harness.gateway.ids.uuid()]
    const event = await market.recordEvent({}, [{ endpointId, attemptId, maxAttempts: 8 }])
    const first = { webhook_event_id: event.id, webhook_endpoint_id: endpointId, attempt_number: 1, id: attemptId }
    const waiting = { http_status: null, error_message: null, created_at: isoOf(NOW), updated_at: isoOf(NOW) }
    const due = { ...first, ...waiting, status: 'PENDING', next_attempt_at: isoOf(NOW) }
    assert.deepEqual((await find(event.id)).deliveries, [due])

    await begin(endpointId, NOW + 1000)
    const begun = { ...due, status: 'IN_PROGRESS', next_attempt_at: null, updated_at: isoOf(NOW + 1000) }
    assert.deepEqual((await find(event.id)).deliveries, [begun])

    const error = 'The endpoint answered with status 500.'
    const next = { attemptId: nextId, at: NOW + 12_000 }
    await market.log.end([{ attemptId, status: 'FAILED', httpStatus: 500, error, isReceiversFault: true, next }], NOW + 2000)
    const failed = { ...begun, status: 'FAILED', http_status: 500, error_message: error, updated_at: isoOf(NOW + 2000) }
    const times = { created_at: isoOf(NOW + 2000), updated_at: isoOf(NOW + 2000), next_attempt_at: isoOf(NOW + 12_000) }
    const second = { ...due, ...times, id: nextId, attempt_number: 2 }
    assert.deepEqual((await find(event.id)).deliveries, [failed, second])

    await market.recordEndpoint(endpointId, false)
    assert.deepEqual((await find(event.id)).deliveries, [failed, { ...second, next_attempt_at: null }])
    await market.recordEndpoint(endpointId)
    await begin(endpointId, NOW + 12_000)
    await market.log.end(
      [{ attemptId: nextId, status: 'SUCCESS', httpStatus: 204, error: null, isReceiversFault: false, next: null }],
      NOW + 13_000,
    )
    const succeeded = { ...second, status: 'SUCCESS', http_status: 204, next_attempt_at: null, updated_at: isoOf(NOW + 13_000) }
    assert.deepEqual((await find(event.id)).deliveries, [failed, succeeded])
    assert.deepEqual((await list()).list[0]?.deliveries, [failed, succeeded])
  })
  test('answers for the event of another caller like for an unknown one', async () => {
    const event = await market.recordEvent()
    const second = await market.createSandbox('second')
    const [ofSecond, ofWallet] = [
      await market.issueKey({ environmentId: second.environmentId }),
      await market.issueKey({ environmentId: market.environmentId, walletId: second.walletId }),
    ]
    const stranger = await market.logIn(FOREIGN_TEAM)
    const answers = [
      await market.gql(FIND_EVENT, { id: market.walletId }),
      await market.gql(FIND_EVENT, { id: 'x'.repeat(101) }),
      await market.gql(FIND_EVENT, { id: '' }),
    ]
    for (const id of [event.id, event.envelopeId]) {
      answers.push(await market.gql(FIND_EVENT, { id }, stranger))
      for (const { key } of [ofSecond, ofWallet]) answers.push(await market.gqlWithKey(key, FIND_EVENT, { id }))
    }
    await market.project('environment', market.environmentId, [{ type: 'EnvironmentDeleted', data: {} }])
    answers.push(await market.gql(FIND_EVENT, { id: event.id }))
    for (const answer of answers)
      assert.deepEqual([messageOf(answer), codeOf(answer)], ['Webhook event not found', 'GRAPHQL_VALIDATION_FAILED'])
  })
})

// SQLite accepts these texts and PostgreSQL refuses the first one, so no test may give them to a database.
describe.each(['\u0000', 'payment.completed:\u0000', 'a b', '%', 'é', '\ud800'])('the text %j', (text) => {
  beforeEach(() => {
    const { deliveryLog } = market.harness.gateway
    const refuse = () => assert.fail('the database gets the text')
    Object.assign(market.harness.gateway, { deliveryLog: { ...deliveryLog, findEvent: refuse, listEvents: refuse } })
  })
  test('is the id of no event', async () => {
    const answers = [
      await market.gql(FIND_EVENT, { id: text }),
      await market.gql(REDELIVER, { id: text, endpoint: market.walletId }),
    ]
    for (const answer of answers)
      assert.deepEqual([messageOf(answer), codeOf(answer)], ['Webhook event not found', 'GRAPHQL_VALIDATION_FAILED'])
  })
  test('is the type of no event', async () => {
    const { total_count, list: none } = await list({ filter: { event_type: text } })
    assert.deepEqual([total_count, none], [0, []])
  })
})

describe('webhook_event.find_many', () => {
  test('lists events newest first, page by page', async () => {
    const [one, two, three] = [
      await market.recordEvent(),
      await market.recordEvent({ createdAt: NOW + 2 }),
      await market.recordEvent({ createdAt: NOW + 1 }),
    ]
    assert.deepEqual(await listIds(), [two.id, three.id, one.id])
    const { total_count, pagination, list: page } = await list({ page: { limit: 1, offset: 1 } })
    assert.deepEqual([total_count, pagination, page.map(({ id }) => id)], [3, { limit: 1, offset: 1 }, [three.id]])
    for (const limit of [0, 101]) {
      const answer = await market.gql(LIST_EVENTS, toInput({ page: { limit } }))
      assert.equal(messageOf(answer), 'page.limit must be from 1 to 100')
    }
  })
  test('keeps the deliveries of each event apart', async () => {
    const { id: endpointId } = await market.create()
    const { ids } = market.harness.gateway
    const attempts = [ids.uuid(), ids.uuid()]
    for (const attemptId of attempts) await market.recordEvent({}, [{ endpointId, attemptId, maxAttempts: 8 }])
    const shown = (await list()).list.map(({ id, deliveries }) => [
      id,
      deliveries.length,
      JSON.stringify(deliveries).includes(id),
    ])
    assert.deepEqual(
      shown.map(([, count, isOwn]) => [count, isOwn]),
      [
        [1, true],
        [1, true],
      ],
    )
  })
  test('filters by type, transaction, wallet, endpoint and time', async () => {
    const { id: endpointId } = await market.create()
    const { ids } = market.harness.gateway
    const [walletId, transactionId, attemptId] = [ids.uuid(), ids.uuid(), ids.uuid()]
    const failed = await market.recordEvent({ type: 'payment.failed' })
    const ofWallet = await market.recordEvent({ walletId })
    const ofTransaction = await market.recordEvent({ transactionId })
    const delivered = await market.recordEvent({}, [{ endpointId, attemptId, maxAttempts: 8 }])
    const late = await market.recordEvent({ createdAt: NOW + 5000 })
    assert.deepEqual(await listIds({ event_type: 'payment.failed' }), [failed.id])
    assert.deepEqual(await listIds({ wallet_id: walletId }), [ofWallet.id])
    assert.deepEqual(await listIds({ transaction_id: transactionId.toUpperCase() }), [ofTransaction.id])
    assert.deepEqual(await listIds({ endpoint_id: endpointId }), [delivered.id])
    assert.deepEqual(await listIds({ date_range: { from: isoOf(NOW + 5000) } }), [late.id])
    assert.equal((await listIds({ date_range: { from: isoOf(NOW), to: isoOf(NOW + 5000) } })).length, 4)
    const all = { event_type: delivered.type, wallet_id: market.walletId, endpoint_id: endpointId }
    assert.deepEqual(await listIds({ ...all, date_range: { from: isoOf(NOW), to: isoOf(NOW + 1) } }), [delivered.id])
    assert.deepEqual(await listIds({ ...all, date_range: { from: isoOf(NOW + 1) } }), [])
    for (const event_type of ['payment.done', '']) assert.deepEqual(await listIds({ event_type }), [])
    const none = { event_type: null, wallet_id: null, endpoint_id: null, transaction_id: null }
    assert.equal((await listIds({ ...none, date_range: { from: null, to: null } })).length, 5)
  })
  test('refuses ids and times that are none', async () => {
    const refusals: readonly (readonly [object, RegExp])[] = [
      [{ wallet_id: 'till' }, /^Invalid ID$/],
      [{ endpoint_id: 'hook' }, /^Invalid ID$/],
      [{ transaction_id: 'rent' }, /^Invalid ID$/],
      [{ wallet_id: '' }, /^Invalid ID$/],
      [{ endpoint_id: '' }, /^Invalid ID$/],
      [{ transaction_id: '' }, /^Invalid ID$/],
      [{ date_range: { from: '' } }, /^filter\.date_range\.from must be a time/],
      [{ date_range: { to: '' } }, /^filter\.date_range\.to must be a time/],
      [{ date_range: { from: 'today' } }, /^filter\.date_range\.from must be a time/],
      [{ date_range: { to: 'today' } }, /^filter\.date_range\.to must be a time/],
    ]
    for (const [filter, message] of refusals)
      assert.match(messageOf(await market.gql(LIST_EVENTS, toInput({ filter }))) ?? '', message)
  })
  test('shows only the environment, and to a key for one wallet only its wallet', async () => {
    const second = await market.createSandbox('second')
    const other = await market.call<string>(
      'mutation ($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { id } } } }',
      { input: { name: 'other', environment_id: market.environmentId, asset_id: 'b7c0b1de-0000-4000-8000-000000000001' } },
      'payment.wallet.create.id',
    )
    const own = await market.recordEvent()
    const ofOther = await market.recordEvent({ walletId: other })
    const ofTest = await market.recordEvent({ type: 'webhook.test', walletId: null, transactionId: null })
    await market.recordEvent({ environmentId: second.environmentId, walletId: second.walletId })
    assert.deepEqual(new Set(await listIds()), new Set([own.id, ofOther.id, ofTest.id]))
    const { key } = await market.issueKey({ environmentId: market.environmentId, walletId: market.walletId })
    const ofKey = async (filter: object) => market.gqlWithKey(key, LIST_EVENTS, toInput({ filter }))
    for (const filter of [{}, { wallet_id: market.walletId }])
      assert.deepEqual(readPath(await ofKey(filter), `${LIST}.list`), [
        (await list({ filter: { transaction_id: own.transactionId } })).list[0],
      ])
    assert.equal(messageOf(await ofKey({ wallet_id: other })), 'Wallet not found')
    for (const { id } of [ofOther, ofTest])
      assert.equal(messageOf(await market.gqlWithKey(key, FIND_EVENT, { id })), 'Webhook event not found')
    const foreign = await market.gqlWithKey(key, LIST_EVENTS, { input: { environment_id: second.environmentId } })
    assert.equal(messageOf(foreign), 'Environment not found')
  })
})
