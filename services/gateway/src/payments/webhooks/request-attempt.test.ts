import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { type GraphqlResult, NOW } from '../../gateway-harness.fixture.ts'
import { codeOf } from '../keys/service-keys.fixture.ts'
import { FOREIGN_TEAM } from '../payments.fixture.ts'
import { type DeliveryRecord, openWebhooksHarness, REDELIVER, TEST, type WebhooksHarness } from './webhooks.fixture.ts'

let market: WebhooksHarness
let endpointId: string
beforeEach(async () => {
  market = await openWebhooksHarness()
  endpointId = (await market.create()).id
  await market.recordEndpoint(endpointId)
})
afterEach(() => market.harness.close())

const redeliver = (id: string, endpoint = endpointId) =>
  market.call<DeliveryRecord>(REDELIVER, { id, endpoint }, 'payment.webhook_event.redeliver')
const messageOf = ({ errors }: GraphqlResult) => errors?.[0]?.message
/** Records an event whose first attempt at the endpoint was answered. */
const recordDelivered = async (status: 'SUCCESS' | 'FAILED') => {
  const attemptId = market.harness.gateway.ids.uuid()
  const event = await market.recordEvent({}, [{ endpointId, attemptId, maxAttempts: 8 }])
  await market.log.begin([{ endpointId, count: 1 }], NOW)
  await market.log.end(
    [{ attemptId, status, httpStatus: 200, error: null, isReceiversFault: status === 'FAILED', next: null }],
    NOW,
  )
  return event
}
/** An attempt that was just requested. */
const requested = (id: string, event: string, attempt_number: number) => ({
  id,
  webhook_event_id: event,
  webhook_endpoint_id: endpointId,
  attempt_number,
  status: 'PENDING',
  http_status: null,
  error_message: null,
  next_attempt_at: new Date(NOW).toISOString(),
  created_at: new Date(NOW).toISOString(),
  updated_at: new Date(NOW).toISOString(),
})

describe('webhook_event.redeliver', () => {
  test.each(['SUCCESS', 'FAILED'] as const)('requests one more attempt after the attempt with status %s', async (status) => {
    const event = await recordDelivered(status)
    const delivery = await redeliver(event.id)
    assert.deepEqual(delivery, requested(delivery.id, event.id, 2))
    assert.deepEqual(market.listSent('RequestRedelivery'), [
      { id: endpointId, data: { eventId: event.id, attemptId: delivery.id } },
    ])
    await market.recordChanges({ kind: 'redelivery', eventId: event.id, endpointId, attemptId: delivery.id, at: NOW })
    const attempt = (await market.log.listAttempts([event.id])).find(({ id }) => id === delivery.id)
    assert.deepEqual([attempt?.number, attempt?.status, attempt?.nextAttemptAt], [2, 'PENDING', NOW])
  })
  test('counts the attempt that is due, as the queue does', async () => {
    const attemptId = market.harness.gateway.ids.uuid()
    const event = await market.recordEvent({}, [{ endpointId, attemptId, maxAttempts: 8 }])
    const delivery = await redeliver(event.id)
    await market.recordChanges({ kind: 'redelivery', eventId: event.id, endpointId, attemptId: delivery.id, at: NOW })
    const attempts = await market.log.listAttempts([event.id])
    assert.deepEqual([delivery['attempt_number'], attempts.find(({ id }) => id === delivery.id)?.number], [2, 2])
  })
  test('takes the id in the body too, and counts from 1 at an endpoint without an attempt', async () => {
    const event = await market.recordEvent()
    const delivery = await redeliver(event.envelopeId)
    assert.deepEqual(delivery, requested(delivery.id, event.id, 1))
  })
  test('has no time while the endpoint is switched off', async () => {
    const event = await market.recordEvent()
    await market.update({ id: endpointId, active: false })
    assert.equal((await redeliver(event.id))['next_attempt_at'], null)
  })
  test('is refused for an event without a body', async () => {
    const event = await market.recordEvent()
    await market.recordChanges({ kind: 'wallet-deleted', walletId: market.walletId })
    const answer = await market.gql(REDELIVER, { id: event.id, endpoint: endpointId })
    assert.match(messageOf(answer) ?? '', /^The texts of this event were deleted/)
    assert.equal(codeOf(answer), 'GRAPHQL_VALIDATION_FAILED')
    assert.deepEqual(market.listSent('RequestRedelivery'), [])
  })
  test('is refused for a foreign event, and for an endpoint of another environment or team', async () => {
    const second = await market.createSandbox('second')
    const stranger = await market.logIn(FOREIGN_TEAM)
    const foreign = await market.createSandbox('foreign', stranger)
    const event = await market.recordEvent()
    const elsewhere = await market.create({ environment_id: second.environmentId })
    const ofStranger = await market.create({ environment_id: foreign.environmentId }, stranger)
    const foreignEvent = await market.recordEvent({ environmentId: foreign.environmentId, walletId: foreign.walletId })
    const { key } = await market.issueKey({ environmentId: second.environmentId })
    const answers = [
      await market.gql(REDELIVER, { id: event.id, endpoint: elsewhere.id }),
      await market.gql(REDELIVER, { id: event.id, endpoint: ofStranger.id }),
      await market.gql(REDELIVER, { id: foreignEvent.id, endpoint: endpointId }),
      await market.gql(REDELIVER, { id: event.id, endpoint: ofStranger.id }, stranger),
      await market.gqlWithKey(key, REDELIVER, { id: event.id, endpoint: elsewhere.id }),
      await market.gql(REDELIVER, { id: event.id, endpoint: 'hook' }),
    ]
    assert.deepEqual(answers.map(messageOf), [
      'Webhook endpoint not found',
      'Webhook endpoint not found',
      'Webhook event not found',
      'Webhook event not found',
      'Webhook event not found',
      'Invalid ID',
    ])
    assert.deepEqual(market.listSent('RequestRedelivery'), [])
  })
  test('is closed to a key for one wallet', async () => {
    const event = await market.recordEvent()
    const { key } = await market.issueKey({ environmentId: market.environmentId, walletId: market.walletId })
    assert.equal(codeOf(await market.gqlWithKey(key, REDELIVER, { id: event.id, endpoint: endpointId })), 'FORBIDDEN')
  })
})

describe('webhook_endpoint.test', () => {
  test('requests one attempt with new ids', async () => {
    const test = () => market.call<DeliveryRecord>(TEST, { id: endpointId }, 'payment.webhook_endpoint.test')
    const [one, two] = [await test(), await test()]
    const sent = market.listSent('RequestTest')
    assert.deepEqual(
      sent.map(({ id, data }) => [id, data['attemptId']]),
      [one, two].map(({ id }) => [endpointId, id]),
    )
    assert.deepEqual(one, requested(one.id, sent[0]?.data['eventId'] ?? assert.fail(), 1))
    assert.equal(new Set([one, two].flatMap((delivery) => [delivery.id, delivery['webhook_event_id']])).size, 4)
  })
})
