import type { AddressedCommand } from '@penstock/kernel/process.ts'
import express from 'express'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { NOW } from '../gateway-harness.fixture.ts'
import { type ListeningServer, startHttpServer } from '../http/http-server.ts'
import { hasEndpoint } from '../payments/webhooks/endpoint-read.ts'
import { openWebhooksHarness, type WebhooksHarness } from '../payments/webhooks/webhooks.fixture.ts'
import { createOperatorErrorHandler } from './http.ts'
import { createWebhookRouter } from './webhook-routes.ts'

const ATTEMPT = '00000000-0000-4000-8000-0000000000a1'
const BODY = '{"memo":"rent of ann"}'

let market: WebhooksHarness
let server: ListeningServer
let sentCommands: AddressedCommand[]
/** The texts of all answers. */
let answered: string[]
beforeEach(async () => {
  market = await openWebhooksHarness()
  ;[sentCommands, answered] = [[], []]
  const { deliveryLog, log, views } = market.harness.gateway
  const app = express()
  const sendCommand = async (command: AddressedCommand) => void sentCommands.push(command)
  const ports = {
    log: deliveryLog,
    hasEndpoint: (environmentId: string, id: string) => hasEndpoint(views, environmentId, id),
    createId: () => ATTEMPT,
    sendCommand,
  }
  app.use(express.json(), createWebhookRouter(ports))
  app.use(createOperatorErrorHandler(log))
  server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
})
afterEach(async () => {
  // An operator of the service reads no texts of its users.
  for (const text of answered) assert.ok(!text.includes('rent of ann'), text)
  await server.close(0)
  await market.harness.close()
})

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
async function ask(path: string, body?: object): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  })
  const text = await response.text()
  answered.push(text)
  return { status: response.status, body: JSON.parse(text) as Answer['body'] } // every answer is an object
}
const listIds = async (query: object): Promise<unknown> => {
  const { body } = await ask(`/?${new URLSearchParams({ environment: market.environmentId, ...query }).toString()}`)
  return (body['events'] as readonly { readonly id: string }[]).map(({ id }) => id) // as in the first test
}

/** Records an event with a failed attempt, and a second one that is due. */
async function recordFailing() {
  const { id: endpointId } = await market.create()
  await market.recordEndpoint(endpointId)
  const [attemptId, nextId] = [market.harness.gateway.ids.uuid(), market.harness.gateway.ids.uuid()]
  const event = await market.recordEvent({ body: BODY }, [{ endpointId, attemptId, maxAttempts: 8 }])
  await market.log.begin([{ endpointId, count: 1 }], NOW)
  const next = { attemptId: nextId, at: NOW + 10_000 }
  await market.log.end(
    [{ attemptId, status: 'FAILED', httpStatus: 500, error: 'It failed.', isReceiversFault: true, next }],
    NOW + 1000,
  )
  const shown = {
    id: event.id,
    type: 'payment.completed',
    transaction: event.transactionId,
    created_at: '2026-11-20T12:00:00.000Z',
    delivered: 0,
    failed: 1,
    waiting: 1,
  }
  return { event, endpointId, attemptId, nextId, shown }
}

describe('the list of webhook events', () => {
  test('contains the events of an environment with the counts of their attempts', async () => {
    const { shown } = await recordFailing()
    const { status, body } = await ask(`/?environment=${market.environmentId}`)
    assert.deepEqual([status, body], [200, { total: 1, events: [shown] }])
  })
  test('is filtered by endpoint, transaction and type', async () => {
    const { event, endpointId } = await recordFailing()
    const other = await market.recordEvent({ type: 'payment.failed', createdAt: NOW - 1 })
    assert.deepEqual(await listIds({}), [event.id, other.id])
    assert.deepEqual(await listIds({ endpoint: endpointId }), [event.id])
    assert.deepEqual(await listIds({ transaction: other.transactionId }), [other.id])
    assert.deepEqual(await listIds({ type: 'payment.failed' }), [other.id])
  })
  test('refuses a query without an environment, with an unknown name, or an id or a type that is none', async () => {
    const environment = `environment=${market.environmentId}`
    for (const query of [
      '',
      'environment=shop',
      `${environment}&wallet=1`,
      `${environment}&endpoint=1`,
      `${environment}&type=%00`,
    ])
      assert.equal((await ask(`/?${query}`)).status, 400, query)
  })
})

describe('a webhook event', () => {
  test('is shown with its attempts, by its id', async () => {
    const { event, endpointId, attemptId, nextId, shown } = await recordFailing()
    const { status, body } = await ask(`/${event.id.toUpperCase()}`)
    const attempt = { endpoint: endpointId, updated_at: '2026-11-20T12:00:01.000Z' }
    assert.deepEqual(
      [status, body],
      [
        200,
        {
          ...shown,
          environment: market.environmentId,
          attempts: [
            { ...attempt, id: attemptId, number: 1, status: 'FAILED', http_status: 500, error: 'It failed.', due_at: null },
            {
              ...attempt,
              id: nextId,
              number: 2,
              status: 'PENDING',
              http_status: null,
              error: null,
              due_at: '2026-11-20T12:00:10.000Z',
            },
          ],
        },
      ],
    )
  })
  test('is refused under an unknown id, or an id that is none', async () => {
    const unknown = { status: 404, body: { error: 'There is no webhook event with this id.' } }
    assert.deepEqual(await ask(`/${market.walletId}`), unknown)
    assert.deepEqual(await ask(`/${market.walletId}/redeliver`, { endpoint: market.walletId }), unknown)
    assert.equal((await ask('/payment.completed:1')).status, 400)
  })
})

describe('the redelivery of a webhook event', () => {
  test('sends a command to the endpoint, and shows the id of the attempt', async () => {
    const { event, endpointId } = await recordFailing()
    const { status, body } = await ask(`/${event.id}/redeliver`, { endpoint: endpointId.toUpperCase() })
    assert.deepEqual([status, body], [200, { event: event.id, endpoint: endpointId, attempt: ATTEMPT }])
    assert.deepEqual(
      sentCommands.map(({ category, id, command }) => [category, id, command]),
      [['endpoint', endpointId, { type: 'RequestRedelivery', data: { eventId: event.id, attemptId: ATTEMPT } }]],
    )
  })
  test('is refused for the endpoint of another environment, and for a deleted one', async () => {
    const { event, endpointId } = await recordFailing()
    const second = await market.createSandbox('second')
    const elsewhere = await market.create({ environment_id: second.environmentId })
    await market.project('endpoint', endpointId, [{ type: 'EndpointDeleted', data: {} }])
    for (const endpoint of [elsewhere.id, endpointId, market.walletId])
      assert.deepEqual(await ask(`/${event.id}/redeliver`, { endpoint }), {
        status: 404,
        body: { error: 'The environment of this event has no such endpoint.' },
      })
    assert.deepEqual(sentCommands, [])
  })
  test('is refused after the deletion of the body, and without an endpoint', async () => {
    const { event, endpointId } = await recordFailing()
    for (const body of [{}, { endpoint: 'hook' }, { endpoint: endpointId, force: true }])
      assert.equal((await ask(`/${event.id}/redeliver`, body)).status, 400)
    await market.recordChanges({ kind: 'wallet-deleted', walletId: market.walletId })
    assert.deepEqual(await ask(`/${event.id}/redeliver`, { endpoint: endpointId }), {
      status: 422,
      body: { error: 'The body of this event was deleted, so it cannot be sent again.' },
    })
    assert.deepEqual(sentCommands, [])
  })
})
