import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import {
  CREATE,
  type EndpointRecord,
  HOOK_URL,
  LIST_ENDPOINTS,
  openWebhooksHarness,
  type WebhooksHarness,
} from './webhooks.fixture.ts'

const LIST = 'payment.webhook_endpoint.find_many'
type EndpointList = { readonly total_count: number; readonly pagination: object; readonly list: readonly EndpointRecord[] }

let market: WebhooksHarness
beforeEach(async () => void (market = await openWebhooksHarness()))
afterEach(() => market.harness.close())

const list = (variables: object) => market.call<EndpointList>(LIST_ENDPOINTS, variables, LIST)
const listIds = async (variables: object) => (await list(variables)).list.map(({ id }) => id)

describe('webhook_endpoint.find_many', () => {
  test('lists the endpoints newest first, page by page', async () => {
    const [one, two, three] = [await market.create(), await market.create(), await market.create()]
    assert.deepEqual(await listIds({}), [three.id, two.id, one.id])
    const { total_count, pagination, list: page } = await list({ input: { page: { limit: 2, offset: 1 } } })
    assert.deepEqual([total_count, pagination, page.map(({ id }) => id)], [3, { limit: 2, offset: 1 }, [two.id, one.id]])
    assert.deepEqual(page[1]?.url, HOOK_URL)
  })
  test('lists those of one environment, named in the input or at the list', async () => {
    const second = (await market.createSandbox('second')).environmentId
    const [first, other] = [await market.create(), await market.create({ environment_id: second })]
    assert.deepEqual(await listIds({}), [other.id, first.id])
    for (const variables of [{ input: { environment_id: second } }, { environment: second }])
      assert.deepEqual(await listIds(variables), [other.id])
  })
  test('shows a key only the endpoints of its environment, and a team only its own', async () => {
    const second = (await market.createSandbox('second')).environmentId
    const [first] = [await market.create(), await market.create({ environment_id: second })]
    const { key } = await market.issueKey({ environmentId: market.environmentId })
    const ofKey = await market.gqlWithKey(key, LIST_ENDPOINTS)
    assert.ok(JSON.stringify(ofKey.data).includes(`"total_count":1`) && JSON.stringify(ofKey.data).includes(first.id))
    for (const variables of [{ input: { environment_id: second } }, { environment: second }]) {
      const answer = await market.gqlWithKey(key, LIST_ENDPOINTS, variables)
      assert.equal(answer.errors?.[0]?.message, 'Environment not found')
    }
    const stranger = await market.logIn(FOREIGN_TEAM)
    assert.deepEqual((await market.call<EndpointList>(LIST_ENDPOINTS, {}, LIST, stranger)).list, [])
    const foreign = await market.gql(CREATE, { input: { environment_id: second, url: HOOK_URL } }, stranger)
    assert.equal(foreign.errors?.[0]?.message, 'Environment not found')
  })
  test('leaves out deleted endpoints, and those of deleted environments', async () => {
    const second = (await market.createSandbox('second')).environmentId
    const [one, two] = [await market.create(), await market.create()]
    await market.create({ environment_id: second })
    await market.project('endpoint', one.id, [{ type: 'EndpointDeleted', data: {} }])
    await market.project('environment', second, [{ type: 'EnvironmentDeleted', data: {} }])
    assert.deepEqual(await listIds({}), [two.id])
    assert.equal((await list({ input: { page: { limit: 1, offset: 1 } } })).total_count, 1)
  })
  test('names the event types that an endpoint may take', async () => {
    const document = '{ payment { webhook_endpoint { available_event_types } } }'
    const types = await market.call<object>(document, {}, 'payment.webhook_endpoint.available_event_types')
    assert.deepEqual(types, ['payment.pending', 'payment.completed', 'payment.failed', 'payment.expired'])
  })
})
