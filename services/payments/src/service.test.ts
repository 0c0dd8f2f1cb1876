import { systemClock } from '@penstock/adapters/system/clock.ts'
import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import type { ReceiveTarget } from '@penstock/contracts/payments/receive.ts'
import type { SendTarget } from '@penstock/contracts/payments/send.ts'
import { type AddressedCommand, command } from '@penstock/kernel/process.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { receiveRequest, sendRequest, START } from './samples.fixture.ts'
import { paymentsService } from './service.ts'
import { createWebhookPorts } from './webhooks/ports.fixture.ts'

/** Runs the service with a clock that stands still until a test skips it. */
async function openFixture() {
  const clock = createSkippableClock({ ...systemClock, now: () => START })
  const { platform, store, caller } = await createMemoryPlatform({}, clock)
  const { ports } = await createWebhookPorts(platform)
  let running = await run([bind(paymentsService(), ports)], platform)
  onTestFinished(() => running.close())
  const { send, outcomes } = await caller('payments')
  const facts = async (stream: string) =>
    (await store.read(stream)).map(({ type, data }) => ({ type, data: JSON.parse(data) as object })) // A fact's data is an object.
  const types = async (stream: string) => (await facts(stream)).map(({ type }) => type)
  return {
    facts,
    types,
    skip: clock.skip,
    send: async (addressed: AddressedCommand) => {
      const id = randomUUID()
      await send(addressed, id)
      return id
    },
    waitForFact: (stream: string, type: string) =>
      waitUntil(`${type} in ${stream}`, async () => (await facts(stream)).find((fact) => fact.type === type)),
    waitForRefusal: (commandId: string) =>
      waitUntil(`a refusal of ${commandId}`, () => outcomes.find((outcome) => outcome.commandId === commandId)?.refused),
    restart: async () => {
      await running.close()
      running = await run([bind(paymentsService(), ports)], platform)
    },
  }
}

const environmentId = uuidFor(2)
const createEnvironment = (firstWalletId: string) =>
  command<EnvironmentTarget>('environment', environmentId, {
    type: 'CreateEnvironment',
    data: { teamId: uuidFor(3), type: 'SANDBOX', nameRecord: uuidFor(4), firstWalletId, keyId: null },
  })
const requestReceive = (id: string, more: Partial<typeof receiveRequest> = {}) =>
  command<ReceiveTarget>('receive', id, { type: 'RequestReceive', data: { ...receiveRequest, ...more } })
const requestSend = (id: string, more: Partial<typeof sendRequest> = {}) =>
  command<SendTarget>('send', id, { type: 'RequestSend', data: { ...sendRequest, ...more } })

test('a sandbox comes with a BTC wallet', async () => {
  const { send, facts, waitForFact } = await openFixture()
  await send(createEnvironment(uuidFor(1)))
  await waitForFact(`wallet-${uuidFor(1)}`, 'WalletCreated')
  expect(await facts(`wallet-${uuidFor(1)}`)).toMatchObject([
    {
      type: 'WalletCreated',
      data: { environmentId, environmentType: 'SANDBOX', teamId: uuidFor(3), assetId: btcAsset.id, nameRecord: null },
    },
  ])
})

test('a receive completes after its delay, and not before', async () => {
  const { send, types, skip, waitForFact } = await openFixture()
  const stream = `receive-${uuidFor(10)}`
  await send(requestReceive(uuidFor(10)))
  await waitForFact(stream, 'InvoiceIssued')
  skip(999)
  // A later receive with an earlier deadline shows that the timers have fired meanwhile.
  await send(requestReceive(uuidFor(11), { behavior: 'fail', issuedAt: START - 1 }))
  await waitForFact(`receive-${uuidFor(11)}`, 'ReceiveFailed')
  expect(await types(stream)).toEqual(['ReceiveRequested', 'InvoiceIssued'])
  skip(1)
  expect(await waitForFact(stream, 'ReceiveCompleted')).toMatchObject({
    data: { amount: '2500', amountMsat: '2500000', settledAt: START + 1000, rate: null },
  })
  expect(await types(stream)).toEqual(['ReceiveRequested', 'InvoiceIssued', 'ReceiveCompleted'])
})

test('a chosen outcome comes although the invoice expires no later, also after a restart', async () => {
  const { send, types, skip, waitForFact, restart } = await openFixture()
  const soon = { issuedAt: START + 400, expiresAt: START + 1000 }
  await send(requestReceive(uuidFor(10), soon))
  await send(requestReceive(uuidFor(11), { ...soon, behavior: 'fail' }))
  await send(requestSend(uuidFor(20), { invoice: { ...sendRequest.invoice, expiresAt: START + 600 } }))
  for (const id of [10, 11]) await waitForFact(`receive-${uuidFor(id)}`, 'InvoiceIssued')
  await waitForFact(`send-${uuidFor(20)}`, 'HashClaimed')
  await restart()
  skip(600)
  await waitForFact(`send-${uuidFor(20)}`, 'SendCompleted')
  expect(await types(`receive-${uuidFor(10)}`)).toEqual(['ReceiveRequested', 'InvoiceIssued'])
  skip(400)
  await waitForFact(`receive-${uuidFor(10)}`, 'ReceiveCompleted')
  await waitForFact(`receive-${uuidFor(11)}`, 'ReceiveFailed')
})

test('a receive expires, also after a restart', async () => {
  const { send, types, skip, waitForFact, restart } = await openFixture()
  const stream = `receive-${uuidFor(10)}`
  await send(requestReceive(uuidFor(10), { behavior: 'expire' }))
  await waitForFact(stream, 'InvoiceIssued')
  await restart()
  skip(600_000)
  await waitForFact(stream, 'ReceiveExpired')
  expect(await types(stream)).toEqual(['ReceiveRequested', 'InvoiceIssued', 'ReceiveExpiryReached', 'ReceiveExpired'])
})

test('a second send of the wallet with the same payment hash is a duplicate of the first one', async () => {
  const { send, types, skip, waitForFact } = await openFixture()
  await send(requestSend(uuidFor(20)))
  await waitForFact(`send-${uuidFor(20)}`, 'HashClaimed')
  await send(requestSend(uuidFor(21)))
  expect(await waitForFact(`send-${uuidFor(21)}`, 'HashTaken')).toMatchObject({ data: { ofSendId: uuidFor(20) } })
  skip(1000)
  await waitForFact(`send-${uuidFor(20)}`, 'SendCompleted')
  expect(await types(`send-${uuidFor(20)}`)).toEqual(['SendRequested', 'InvoiceResolved', 'HashClaimed', 'SendCompleted'])
  expect(await types(`send-${uuidFor(21)}`)).toEqual(['SendRequested', 'InvoiceResolved', 'HashTaken'])
})

test('a send that failed gives its payment hash back, so that another send can pay the invoice', async () => {
  const { send, skip, waitForFact } = await openFixture()
  await send(requestSend(uuidFor(20), { behavior: 'fail' }))
  await waitForFact(`send-${uuidFor(20)}`, 'HashClaimed')
  skip(1000)
  const claim = `sendclaim-${sendRequest.walletId}:${sendRequest.invoice.paymentHash}`
  await waitForFact(claim, 'HashReleased')
  await send(requestSend(uuidFor(21)))
  await waitForFact(`send-${uuidFor(21)}`, 'HashClaimed')
  skip(1000)
  await waitForFact(`send-${uuidFor(21)}`, 'SendCompleted')
})

test('a wallet of a deleted environment gets no new transaction, and its open transactions end', async () => {
  const { send, types, skip, waitForFact, waitForRefusal, restart } = await openFixture()
  await send(createEnvironment(receiveRequest.walletId))
  await waitForFact(`wallet-${receiveRequest.walletId}`, 'WalletCreated')
  await send(requestReceive(uuidFor(10)))
  await waitForFact(`receive-${uuidFor(10)}`, 'InvoiceIssued')
  await send(command<EnvironmentTarget>('environment', environmentId, { type: 'DeleteEnvironment', data: {} }))
  await waitForFact(`environment-${environmentId}`, 'EnvironmentDeleted')
  await restart() // A new process reads the whole log before its first command.
  expect(await waitForRefusal(await send(requestReceive(uuidFor(11))))).toMatchObject({ code: 'NOT_FOUND' })
  expect(await types(`receive-${uuidFor(11)}`)).toEqual([])
  skip(1000)
  await waitForFact(`receive-${uuidFor(10)}`, 'ReceiveCompleted')
})
