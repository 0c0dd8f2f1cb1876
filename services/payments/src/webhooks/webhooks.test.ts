import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import type { WalletTarget } from '@penstock/contracts/payments/wallet.ts'
import { command } from '@penstock/kernel/process.ts'
import type { WebhookAnswer, WebhookRequest } from '@penstock/ports/post-webhook.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { createHmac } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { receiveRequest, START } from '../samples.fixture.ts'
import {
  answered,
  change,
  endpointCommand,
  environmentId,
  firstSecret,
  openFixture,
  requestTest,
  secondSecret,
  typesAt,
  waitForCount,
  waitForQuiet,
} from './webhooks.fixture.ts'

function assertSigned({ headers, body }: WebhookRequest, secret: string): void {
  const mac = createHmac('sha256', secret).update(`${headers['x-webhook-timestamp']}.${body}`).digest('hex')
  expect(headers['x-webhook-signature']).toBe(mac)
}

test('an endpoint gets the events of a transaction in their order, with its texts, and signed', async () => {
  const fixture = await openFixture()
  await fixture.createEndpoint(uuidFor(50))
  await fixture.receive(uuidFor(10))
  await waitForCount(fixture, 1)
  fixture.skip(1000)
  const [pending, completed] = await waitForCount(fixture, 2)
  expect(typesAt(fixture, uuidFor(50))).toEqual(['payment.pending', 'payment.completed'])
  expect(JSON.parse(pending!.body)).toEqual({
    id: `payment.pending:${uuidFor(10)}`,
    event_type: 'payment.pending',
    environment: 'sandbox',
    environment_id: environmentId,
    wallet_id: receiveRequest.walletId,
    node_id: null,
    data: {
      id: uuidFor(10),
      direction: 'receive',
      status: 'pending',
      payment_details: { payment_type: 'bolt11', payment_request: 'lnbcrt1', payment_hash: receiveRequest.paymentHash },
      amount: { amount: '2500', asset_id: receiveRequest.assetId, asset_symbol: 'BTC', precision: 8 },
      fee: null,
      settle_amount: null,
      exchange_rate: null,
      description: 'coffee',
      settled_at: null,
      expires_at: new Date(receiveRequest.expiresAt).toISOString(),
      metadata: { order: 12_345_678_901_234_567_000 },
    },
  })
  expect(completed!.body).toContain('"metadata":{"order":12345678901234567890}}}')
  expect(JSON.parse(completed!.body)).toMatchObject({
    data: { status: 'completed', settled_at: new Date(START + 1000).toISOString(), settle_amount: { amount: '2500' } },
  })
  for (const request of fixture.received) assertSigned(request, firstSecret)
})

test('an endpoint gets no event from before its creation, and only the types of its filters', async () => {
  const fixture = await openFixture()
  await fixture.receive(uuidFor(10))
  await fixture.createEndpoint(uuidFor(50))
  await fixture.createEndpoint(uuidFor(51), ['payment.failed'])
  await fixture.receive(uuidFor(11), 'fail')
  fixture.skip(1000)
  await waitUntil('all events', () => typesAt(fixture, uuidFor(50)).length === 3 && typesAt(fixture, uuidFor(51)).length === 1)
  await waitForQuiet(fixture)
  expect(typesAt(fixture, uuidFor(50)).toSorted((one = '', other = '') => one.localeCompare(other))).toEqual([
    'payment.completed',
    'payment.failed',
    'payment.pending',
  ])
  expect(typesAt(fixture, uuidFor(51))).toEqual(['payment.failed'])
})

test('a failed attempt is repeated after its wait, also after a restart, with the same bytes and a new time', async () => {
  const fixture = await openFixture()
  fixture.receiver.answer = () => answered(500)
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await fixture.receive(uuidFor(10), 'expire')
  await waitForCount(fixture, 1)
  await waitUntil('the end of the first attempt', async () => (await fixture.ports.deliveries.count(START)).inProgress === 0)
  await fixture.restart()
  fixture.receiver.answer = () => answered(200)
  fixture.skip(10_000)
  const [first, second] = await waitForCount(fixture, 2)
  await waitForQuiet(fixture)
  expect(second!.body).toBe(first!.body)
  expect(Number(second!.headers['x-webhook-timestamp'])).toBe(Number(first!.headers['x-webhook-timestamp']) + 10)
  const [event] = (await fixture.ports.deliveries.listEvents({ environmentId, limit: 10, offset: 0 })).events
  expect(await fixture.ports.deliveries.listAttempts([event!.id])).toMatchObject([
    { number: 1, status: 'FAILED', httpStatus: 500, error: 'The endpoint answered with status 500.' },
    { number: 2, status: 'SUCCESS', httpStatus: 200, error: null },
  ])
})

test('a call that never ends delays no other endpoint, and ends as failed when the service starts again', async () => {
  const fixture = await openFixture()
  const isHanging = ({ url }: WebhookRequest): boolean => url.includes(uuidFor(50))
  fixture.receiver.answer = (request) => (isHanging(request) ? new Promise(() => undefined) : answered(200))
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await fixture.createEndpoint(uuidFor(51), ['payment.pending'])
  await fixture.receive(uuidFor(10), 'expire')
  await fixture.receive(uuidFor(11), 'expire')
  await waitUntil('both events', () => typesAt(fixture, uuidFor(51)).length === 2)
  expect(typesAt(fixture, uuidFor(50))).toHaveLength(1)
  await fixture.restart()
  fixture.receiver.answer = () => answered(200)
  await waitUntil('the second event', () => typesAt(fixture, uuidFor(50)).length === 2)
  fixture.skip(10_000)
  await waitUntil('the repetition', () => typesAt(fixture, uuidFor(50)).length === 3)
  await waitForQuiet(fixture)
})

test('an endpoint that answers 410 is switched off, and keeps its deliveries until it is switched on', async () => {
  const fixture = await openFixture()
  fixture.receiver.answer = () => answered(410)
  await fixture.createEndpoint(uuidFor(50))
  await fixture.receive(uuidFor(10))
  const fact = await fixture.waitForFact(`endpoint-${uuidFor(50)}`, 'EndpointDeactivated')
  expect(JSON.parse(fact.data)).toEqual({ reason: 'GONE', since: START, httpStatus: 410 })
  fixture.skip(1000)
  await fixture.waitForFact(`receive-${uuidFor(10)}`, 'ReceiveCompleted')
  fixture.receiver.answer = () => answered(200)
  await fixture.act(endpointCommand(uuidFor(50), change({ active: true }) as never), 'EndpointResumed')
  fixture.skip(10_000)
  await waitForCount(fixture, 3)
  await waitForQuiet(fixture)
  const repeated = typesAt(fixture, uuidFor(50)).slice(1)
  expect(new Set(repeated)).toEqual(new Set(['payment.completed', 'payment.pending']))
})

test('deliveries that a gone receiver refuses before its endpoint is switched off wait too', async () => {
  const fixture = await openFixture()
  const { deliveries } = fixture.ports
  const record = deliveries.record.bind(deliveries)
  const [firstAnswer, recorded] = [Promise.withResolvers<WebhookAnswer>(), Promise.withResolvers<void>()]
  vi.spyOn(deliveries, 'record').mockImplementation(async (batch) => {
    if (batch.changes.some((delivery) => delivery.kind === 'endpoint' && !delivery.settings.active)) await recorded.promise
    return record(batch)
  })
  fixture.receiver.answer = () => (fixture.received.length === 1 ? firstAnswer.promise : answered(410))
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await fixture.receive(uuidFor(10), 'expire')
  await waitForCount(fixture, 1)
  await fixture.receive(uuidFor(11), 'expire')
  await waitUntil('the second delivery', async () => (await deliveries.count(START)).due === 1)
  firstAnswer.resolve(answered(410))
  await waitForCount(fixture, 2)
  await waitUntil('both ends', async () => (await deliveries.count(START)).inProgress === 0)
  recorded.resolve()
  fixture.receiver.answer = () => answered(200)
  await fixture.act(endpointCommand(uuidFor(50), change({ active: true }) as never), 'EndpointResumed')
  fixture.skip(10_000)
  await waitForCount(fixture, 4)
  await waitForQuiet(fixture)
  const expected = new Set([10, 11].map((n) => `payment.pending:${uuidFor(n)}`))
  expect(new Set(fixture.received.slice(2).map(({ headers }) => headers['webhook-id']))).toEqual(expected)
})

test('an endpoint that only failed for five days is switched off, and older events end when it is switched on', async () => {
  const fixture = await openFixture()
  fixture.receiver.answer = () => answered(503)
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await fixture.receive(uuidFor(10), 'expire')
  const failAttempt = async (number: number) => {
    await waitForCount(fixture, number)
    await waitUntil('its end', async () => (await fixture.ports.deliveries.count(START)).inProgress === 0)
  }
  await failAttempt(1)
  fixture.skip(5 * 86_400_000)
  for (let number = 2; number < 8; number++) {
    await failAttempt(number)
    fixture.skip(600_000)
  }
  // The last attempt of the delivery switches the endpoint off.
  const fact = await fixture.waitForFact(`endpoint-${uuidFor(50)}`, 'EndpointDeactivated')
  expect(JSON.parse(fact.data)).toEqual({ reason: 'FAILING', since: START, httpStatus: 503 })
  fixture.skip(1000)
  fixture.receiver.answer = () => answered(200)
  const sent = fixture.received.length
  await fixture.act(endpointCommand(uuidFor(50), change({ active: true }) as never), 'EndpointResumed')
  await fixture.receive(uuidFor(11), 'expire')
  await waitForCount(fixture, sent + 1)
  await waitForQuiet(fixture)
  expect(fixture.received.slice(sent).map(({ headers }) => headers['webhook-id'])).toEqual([`payment.pending:${uuidFor(11)}`])
})

test('after a rotation both secrets sign for a day, and the newest one alone afterwards', async () => {
  const fixture = await openFixture()
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await fixture.storeSecret(uuidFor(60), secondSecret)
  const rotate = { type: 'RotateSecret', data: { secretRecord: uuidFor(60) } }
  await fixture.act(endpointCommand(uuidFor(50), rotate as never), 'SecretRotated')
  await fixture.receive(uuidFor(10), 'expire')
  const [within] = await waitForCount(fixture, 1)
  fixture.skip(86_400_000)
  await fixture.receive(uuidFor(11), 'expire')
  const [, after] = await waitForCount(fixture, 2)
  for (const request of [within!, after!]) assertSigned(request, secondSecret)
  expect(within!.headers['webhook-signature']!.split(' ')).toHaveLength(2)
  expect(after!.headers['webhook-signature']!.split(' ')).toHaveLength(1)
})

test('a test and a redelivery are one attempt each', async () => {
  const fixture = await openFixture()
  fixture.receiver.answer = () => answered(500)
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  await waitForCount(fixture, 1)
  await waitForQuiet(fixture)
  const again = { eventId: uuidFor(70), attemptId: uuidFor(72) }
  await fixture.act(endpointCommand(uuidFor(50), { type: 'RequestRedelivery', data: again } as never), 'RedeliveryRequested')
  const [test, redelivery] = await waitForCount(fixture, 2)
  await waitForQuiet(fixture)
  expect(JSON.parse(test!.body)).toMatchObject({ id: `webhook.test:${uuidFor(70)}`, event_type: 'webhook.test' })
  expect(redelivery!.body).toBe(test!.body)
  expect(await fixture.ports.deliveries.listAttempts([uuidFor(70)])).toMatchObject([
    { id: uuidFor(71), number: 1, status: 'FAILED' },
    { id: uuidFor(72), number: 2, status: 'FAILED' },
  ])
})

test('after the deletion of its environment an endpoint gets nothing more, and the bodies are gone', async () => {
  const fixture = await openFixture()
  fixture.receiver.answer = () => answered(500)
  await fixture.createEndpoint(uuidFor(50))
  await fixture.receive(uuidFor(10), 'expire')
  await waitForCount(fixture, 1)
  await fixture.act(
    command<EnvironmentTarget>('environment', environmentId, { type: 'DeleteEnvironment', data: {} }),
    'EnvironmentDeleted',
  )
  await waitForQuiet(fixture)
  fixture.skip(600_000)
  await fixture.waitForFact(`receive-${uuidFor(10)}`, 'ReceiveExpired')
  const { events } = await fixture.ports.deliveries.listEvents({ environmentId, limit: 10, offset: 0 })
  expect(events.map(({ type, body }) => [type, body])).toEqual([['payment.pending', null]])
  expect(fixture.received).toHaveLength(1)
})

test('a transaction that ends after the deletion of its wallet causes no webhook, and other transactions still do', async () => {
  const fixture = await openFixture()
  await fixture.createEndpoint(uuidFor(50))
  const { walletId, teamId, assetId } = receiveRequest
  const data = { environmentId, environmentType: 'SANDBOX' as const, teamId, assetId, nameRecord: null }
  const other = uuidFor(60)
  await fixture.act(command<WalletTarget>('wallet', other, { type: 'CreateWallet', data }), 'WalletCreated')
  await fixture.receive(uuidFor(10))
  await fixture.receive(uuidFor(11), 'complete', other)
  await waitForCount(fixture, 2)
  await fixture.act(command<WalletTarget>('wallet', walletId, { type: 'DeleteWallet', data: {} }), 'WalletDeleted')
  fixture.skip(1000)
  await fixture.waitForFact(`receive-${uuidFor(10)}`, 'ReceiveCompleted')
  await waitForCount(fixture, 3)
  // The position of the feed passes every fact before this test event.
  const test = { eventId: uuidFor(70), attemptId: uuidFor(71) }
  await fixture.act(endpointCommand(uuidFor(50), { type: 'RequestTest', data: test }), 'TestRequested')
  const [, , ...later] = await waitForCount(fixture, 4)
  expect(later.map(({ body }) => (JSON.parse(body) as { wallet_id: string | null }).wallet_id)).toEqual([other, null])
})
