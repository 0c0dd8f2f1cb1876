import { transactionEventTypes } from '@penstock/contracts/payments/lifecycle.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { NOW } from '../../gateway-harness.fixture.ts'
import { codeOf } from '../keys/service-keys.fixture.ts'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import { OVERLAP_END } from './decide-endpoint.fixture.ts'
import { withEndpointTables } from './tables.ts'
import {
  CREATE,
  type CreatedEndpoint,
  DELETE,
  FIND_ENDPOINT,
  HOOK_URL,
  LIST_ENDPOINTS,
  openWebhooksHarness,
  REDELIVER,
  ROTATE,
  TEST,
  UPDATE,
  type WebhooksHarness,
} from './webhooks.fixture.ts'

let market: WebhooksHarness
beforeEach(async () => void (market = await openWebhooksHarness()))
afterEach(() => market.harness.close())

const rotate = (id: string) => market.call<CreatedEndpoint>(ROTATE, { id }, 'payment.webhook_endpoint.rotate_secret')
const remove = (id: string) => market.call<boolean>(DELETE, { id }, 'payment.webhook_endpoint.delete')
const findRecord = (id: string | undefined) => market.harness.gateway.records.get(id ?? assert.fail())
const lastSent = (type: string) => market.listSent(type).at(-1)?.data ?? assert.fail(type)
/** The secret in a record, as the service that signs deliveries reads it. */
const openSecret = async (id: string | undefined) => {
  const { json } = (await findRecord(id)) ?? assert.fail('the secret has no record')
  return market.vault.open(id ?? '', 'webhook-secret', json)
}

describe('webhook_endpoint.create', () => {
  test('returns the secret once, and the endpoint without it', async () => {
    const { id, secret, endpoint } = await market.create()
    const { created_at, ...others } = endpoint
    assert.equal(Buffer.from(secret.replace(/^whsec_/, ''), 'base64').length, 32)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.deepEqual(others, {
      id,
      environment_id: market.environmentId,
      url: HOOK_URL,
      event_filters: [],
      active: true,
      updated_at: created_at,
      deactivated_at: null,
      deactivation_reason: null,
      previous_secret_valid_until: null,
    })
    assert.deepEqual(await market.findEndpoint(id), endpoint)
    assert.equal(await openSecret(lastSent('CreateEndpoint')['secretRecord']), secret)
    assert.notEqual((await market.create()).secret, secret)
  })
  test('takes each event type once, in a fixed order', async () => {
    const event_filters = ['payment.expired', 'payment.pending', 'payment.expired']
    assert.deepEqual((await market.create({ event_filters })).endpoint.event_filters, ['payment.pending', 'payment.expired'])
    for (const all of [[], null]) assert.deepEqual((await market.create({ event_filters: all })).endpoint.event_filters, [])
  })
  test('refuses an unknown event type with the list of the known ones', async () => {
    const input = { environment_id: market.environmentId, url: HOOK_URL }
    for (const name of ['payment.done', 'webhook.test', '']) {
      const answer = await market.gql(CREATE, { input: { ...input, event_filters: ['payment.failed', name] } })
      assert.equal(codeOf(answer), 'GRAPHQL_VALIDATION_FAILED')
      for (const type of transactionEventTypes) assert.ok(answer.errors?.[0]?.message.includes(type), type)
    }
    assert.deepEqual(market.listSent('CreateEndpoint'), [])
  })
  test('refuses the fifty-first endpoint of an environment until another is deleted', async () => {
    const { id } = await market.create()
    const endpoints = withEndpointTables(market.harness.gateway.views)
    const row = await endpoints.selectFrom('gateway_endpoints').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const copies = Array.from({ length: 49 }, (_, n) => ({ ...row, id: `copy-${n}` }))
    await endpoints.insertInto('gateway_endpoints').values(copies).execute()
    const input = { environment_id: market.environmentId, url: HOOK_URL }
    const { errors } = await market.gql(CREATE, { input })
    assert.equal(errors?.[0]?.message, 'An environment has at most 50 webhook endpoints. Delete one first.')
    const second = (await market.createSandbox('second')).environmentId
    await market.create({ environment_id: second })
    await remove(id)
    await market.create()
  })
  test('deletes the stored texts of a refused endpoint', async () => {
    market.refuseCommands()
    const answer = await market.gql(CREATE, { input: { environment_id: market.environmentId, url: HOOK_URL } })
    assert.equal(answer.errors?.[0]?.message, 'There are too many.')
    const { urlRecord, secretRecord } = lastSent('CreateEndpoint')
    assert.deepEqual(await Promise.all([findRecord(urlRecord), findRecord(secretRecord)]), [undefined, undefined])
  })
})

describe('webhook_endpoint.update', () => {
  test('leaves the fields that are not named as they are', async () => {
    const event_filters = ['payment.completed']
    const { id, endpoint } = await market.create({ event_filters })
    const moved = await market.update({ id, url: 'https://shop.example.com/new' })
    assert.deepEqual(moved, { ...endpoint, url: 'https://shop.example.com/new', updated_at: moved.updated_at })
    assert.ok(moved.updated_at > endpoint.updated_at)
    assert.deepEqual((await market.update({ id, event_filters: [] })).event_filters, [])
    const unchanged = await market.update({ id })
    assert.deepEqual([unchanged.url, unchanged.event_filters, unchanged.active], ['https://shop.example.com/new', [], true])
  })
  test('deletes the record of the old URL', async () => {
    const { id } = await market.create()
    const { urlRecord } = lastSent('CreateEndpoint')
    assert.ok(await findRecord(urlRecord))
    await market.update({ id, url: 'https://shop.example.com/new' })
    assert.equal(await findRecord(urlRecord), undefined)
    assert.ok(await findRecord(lastSent('ChangeEndpoint')['urlRecord']))
  })
  test('keeps the old URL if the change is refused, and deletes the new one', async () => {
    const { id } = await market.create()
    market.refuseCommands()
    await market.gql(UPDATE, { input: { id, url: 'https://shop.example.com/new' } })
    assert.equal(await findRecord(lastSent('ChangeEndpoint')['urlRecord']), undefined)
    assert.equal((await market.findEndpoint(id)).url, HOOK_URL)
  })
  test('switches the endpoint off and on', async () => {
    const { id } = await market.create()
    for (const active of [false, false, true]) {
      const { active: shown, deactivated_at } = await market.update({ id, active })
      assert.deepEqual([shown, deactivated_at], [active, null])
    }
  })
  test.each([
    ['GONE', 'The endpoint answered with status 410.'],
    ['FAILING', 'Every attempt of the last five days failed.'],
  ])('switches an endpoint on again that the service deactivated as %s', async (reason, text) => {
    const { id } = await market.create()
    await market.project('endpoint', id, [{ type: 'EndpointDeactivated', data: { reason, since: NOW, httpStatus: 410 } }])
    const { active, deactivated_at, deactivation_reason, updated_at } = await market.findEndpoint(id)
    assert.deepEqual([active, deactivated_at, deactivation_reason], [false, updated_at, text])
    const resumed = await market.update({ id, active: true })
    assert.deepEqual([resumed.active, resumed.deactivated_at, resumed.deactivation_reason], [true, null, null])
  })
})

describe('webhook_endpoint.rotate_secret', () => {
  test('returns a new secret, and keeps the one before it for a day', async () => {
    const { id, secret } = await market.create()
    const { secretRecord } = lastSent('CreateEndpoint')
    const rotated = await rotate(id)
    assert.match(rotated.secret, /^whsec_/)
    assert.notEqual(rotated.secret, secret)
    assert.deepEqual([rotated.id, rotated.endpoint.id], [id, id])
    assert.equal(rotated.endpoint.previous_secret_valid_until, new Date(OVERLAP_END).toISOString())
    assert.equal(await openSecret(lastSent('RotateSecret')['secretRecord']), rotated.secret)
    assert.equal(await openSecret(secretRecord), secret)
  })
  test('deletes the stored secret of a refused rotation', async () => {
    const { id } = await market.create()
    market.refuseCommands()
    await market.gql(ROTATE, { id })
    assert.equal(await findRecord(lastSent('RotateSecret')['secretRecord']), undefined)
  })
})

describe('webhook_endpoint.delete', () => {
  test('deletes the records of the endpoint, also of its earlier secrets', async () => {
    const { id } = await market.create()
    await rotate(id)
    const { urlRecord, secretRecord } = lastSent('CreateEndpoint')
    const records = [urlRecord, secretRecord, lastSent('RotateSecret')['secretRecord']]
    for (const record of records) assert.ok(await findRecord(record))
    assert.equal(await remove(id), true)
    for (const record of records) assert.equal(await findRecord(record), undefined)
  })
  test('leaves an endpoint unknown to every later call', async () => {
    const { id } = await market.create()
    await remove(id)
    await assertUnknown(id, market.token)
  })
})

/** Asserts that each operation answers like for an unknown endpoint, and sends no command. */
async function assertUnknown(id: string, bearer: string): Promise<void> {
  const { id: event } = await market.recordEvent()
  const sentBefore = market.harness.sent.length
  const calls: readonly (readonly [string, object])[] = [
    [FIND_ENDPOINT, { id }],
    [UPDATE, { input: { id, active: false } }],
    [ROTATE, { id }],
    [DELETE, { id }],
    [TEST, { id }],
    ...(bearer === market.token ? [[REDELIVER, { id: event, endpoint: id }] as const] : []),
  ]
  for (const [document, variables] of calls) {
    const answer = await market.gql(document, variables, bearer)
    const found = [answer.errors?.[0]?.message, codeOf(answer)]
    assert.deepEqual(found, ['Webhook endpoint not found', 'GRAPHQL_VALIDATION_FAILED'], document)
  }
  assert.equal(market.harness.sent.length, sentBefore)
}

describe('an endpoint', () => {
  test('is unknown under another id, to another team, and with its environment deleted', async () => {
    const { id } = await market.create()
    await assertUnknown(market.walletId, market.token)
    await assertUnknown(id, await market.logIn(FOREIGN_TEAM))
    await market.project('environment', market.environmentId, [{ type: 'EnvironmentDeleted', data: {} }])
    const answer = await market.gql(FIND_ENDPOINT, { id })
    assert.equal(answer.errors?.[0]?.message, 'Webhook endpoint not found')
  })
  test('is unknown to a key for another environment', async () => {
    const { id } = await market.create()
    const { key } = await market.issueKey({ environmentId: (await market.createSandbox('second')).environmentId })
    const answer = await market.gqlWithKey(key, FIND_ENDPOINT, { id })
    assert.equal(answer.errors?.[0]?.message, 'Webhook endpoint not found')
  })
  test('is closed to a key for one wallet', async () => {
    const { id } = await market.create()
    const { key } = await market.issueKey({ environmentId: market.environmentId, walletId: market.walletId })
    const calls: readonly (readonly [string, object])[] = [
      [FIND_ENDPOINT, { id }],
      [LIST_ENDPOINTS, {}],
      ['{ payment { webhook_endpoint { available_event_types } } }', {}],
      [CREATE, { input: { environment_id: market.environmentId, url: HOOK_URL } }],
      [UPDATE, { input: { id } }],
      [ROTATE, { id }],
      [DELETE, { id }],
      [TEST, { id }],
    ]
    for (const [document, variables] of calls)
      assert.equal(codeOf(await market.gqlWithKey(key, document, variables)), 'FORBIDDEN', document)
  })
})
