import { Fault } from '@penstock/kernel/result.ts'
import type { WebhookAnswer } from '@penstock/ports/post-webhook.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test, vi } from 'vitest'
import { START } from '../samples.fixture.ts'
import { answered, openFixture, requestTest, waitForCount, waitForQuiet } from './webhooks.fixture.ts'

test('an answer counts although the search for due deliveries fails before it is recorded', async () => {
  const fixture = await openFixture()
  const { deliveries } = fixture.ports
  const findDue = deliveries.findDue.bind(deliveries)
  let [hasAnswered, faults] = [false, 0]
  deliveries.findDue = (query) => {
    if (!hasAnswered || faults > 0) return findDue(query)
    faults++
    return Promise.reject(new Fault('the database is away'))
  }
  fixture.receiver.answer = () => {
    hasAnswered = true
    return answered(204)
  }
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  const attempt = await waitUntil('the end of the attempt', async () => {
    const [logged] = await deliveries.listAttempts([uuidFor(70)])
    return logged && logged.status !== 'PENDING' && logged.status !== 'IN_PROGRESS' ? logged : undefined
  })
  expect(faults).toBe(1)
  expect(attempt).toMatchObject({ status: 'SUCCESS', httpStatus: 204 })
})

test('an attempt whose request cannot be made waits, and uses up no attempt of the receiver', async () => {
  const fixture = await openFixture()
  const { deliveries, opener } = fixture.ports
  const open = vi.spyOn(opener, 'open').mockRejectedValue(new Fault('the vault has no such key'))
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  const readAttempts = () => deliveries.listAttempts([uuidFor(70)])
  await waitUntil('the postponement', async () => (await readAttempts())[0]?.nextAttemptAt === START + 10_000)
  open.mockRestore()
  fixture.skip(10_000)
  await waitForCount(fixture, 1)
  await waitForQuiet(fixture)
  expect(await readAttempts()).toMatchObject([{ id: uuidFor(71), number: 1, status: 'SUCCESS' }])
})

test('attempts that another replica began, and never ended, end as interrupted; a long call of this one goes on', async () => {
  const fixture = await openFixture()
  const { deliveries } = fixture.ports
  fixture.receiver.answer = ({ url }) => (url.includes(uuidFor(51)) ? new Promise(() => undefined) : answered(200))
  await fixture.createEndpoint(uuidFor(51), ['payment.pending'])
  await fixture.receive(uuidFor(10), 'expire')
  await waitForCount(fixture, 1)
  const begin = deliveries.begin.bind(deliveries)
  let lost = 0
  // A replica that commits this begin, and dies before its calls.
  vi.spyOn(deliveries, 'begin').mockImplementation(async (...parameters) => {
    const attempts = await begin(...parameters)
    if (lost > 0) return attempts
    lost += attempts.length
    return []
  })
  await fixture.createEndpoint(uuidFor(50), ['payment.pending'])
  await requestTest(fixture)
  await waitUntil('the lost attempt', () => lost === 1)
  fixture.skip(61_000)
  const [attempt] = await waitUntil('the end of the lost attempt', async () => {
    const attempts = await deliveries.listAttempts([uuidFor(70)])
    return attempts.some(({ status }) => status === 'FAILED') ? attempts : undefined
  })
  expect(attempt).toMatchObject({ id: uuidFor(71), error: 'The service stopped during the call.' })
  expect(await deliveries.count(START)).toMatchObject({ inProgress: 1 })
})

test('a service that stops keeps its shards until its calls have ended', async () => {
  const fixture = await openFixture()
  const { leases } = fixture.platform
  const answer = Promise.withResolvers<WebhookAnswer>()
  fixture.receiver.answer = () => answer.promise
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  await waitForCount(fixture, 1)
  const acquireAs = (holder: string, ...names: readonly string[]) =>
    Promise.all(names.map((name) => leases.acquire(`payments.${name}`, holder, 1000)))
  const shards = ['webhooks-0', 'webhooks-1', 'webhooks-2', 'webhooks-3']

  const stopped = fixture.stop()
  await waitUntil('the release of the other leases', async () => (await acquireAs('other', 'webhook-feed'))[0])
  expect(await acquireAs('other', ...shards)).toEqual([false, false, false, false])
  answer.resolve(answered(204))
  await stopped
  expect(await acquireAs('other', ...shards)).toEqual([true, true, true, true])
  expect(await fixture.ports.deliveries.listAttempts([uuidFor(70)])).toMatchObject([{ status: 'SUCCESS', httpStatus: 204 }])
})

test('no attempt begins after the stop of the service', async () => {
  const fixture = await openFixture()
  const { deliveries } = fixture.ports
  const findDue = deliveries.findDue.bind(deliveries)
  let stopped: Promise<void> | undefined
  vi.spyOn(deliveries, 'findDue').mockImplementation(async (query) => {
    const due = await findDue(query)
    if (due.length > 0) stopped ??= fixture.stop()
    return due
  })
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  await waitUntil('the stop', () => stopped !== undefined)
  await stopped
  expect(await deliveries.listAttempts([uuidFor(70)])).toMatchObject([{ status: 'PENDING' }])
  expect(fixture.received).toEqual([])
})

test('calls in progress end before a sender that failed starts again', async () => {
  const fixture = await openFixture()
  const { deliveries } = fixture.ports
  const findDue = deliveries.findDue.bind(deliveries)
  const answer = Promise.withResolvers<WebhookAnswer>()
  let faults = 0
  fixture.receiver.answer = () => answer.promise
  vi.spyOn(deliveries, 'findDue').mockImplementation((query) => {
    if (fixture.received.length === 0 || faults > 0) return findDue(query)
    faults++
    return Promise.reject(new Fault('the database is away'))
  })
  await fixture.createEndpoint(uuidFor(50), ['payment.failed'])
  await requestTest(fixture)
  await waitUntil('the fault', () => faults === 1)
  let polls = 0
  await waitUntil('a sender without the drain has started again', () => ++polls === 20, 10_000, 10)
  answer.resolve(answered(204))
  await waitForQuiet(fixture)
  expect(await deliveries.listAttempts([uuidFor(70)])).toMatchObject([{ status: 'SUCCESS', httpStatus: 204 }])
})
