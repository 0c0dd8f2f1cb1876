import { systemClock } from '@penstock/adapters/system/clock.ts'
import type { EndpointTarget } from '@penstock/contracts/payments/endpoint.ts'
import type { EnvironmentTarget } from '@penstock/contracts/payments/environment.ts'
import type { ReceiveTarget } from '@penstock/contracts/payments/receive.ts'
import { type AddressedCommand, command } from '@penstock/kernel/process.ts'
import type { WebhookAnswer } from '@penstock/ports/post-webhook.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { createSkippableClock } from '@penstock/testkit/skippable-clock.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { randomUUID } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { receiveRequest, START } from '../samples.fixture.ts'
import { paymentsService } from '../service.ts'
import { createWebhookPorts } from './ports.fixture.ts'

export const environmentId = receiveRequest.environmentId
export const [firstSecret, secondSecret] = [`whsec_${'A'.repeat(43)}=`, `whsec_${'B'.repeat(43)}=`] as const
export const answered = (status: number): WebhookAnswer => ({ kind: 'answered', status, retryAfterSeconds: null })
export const endpointCommand = (id: string, body: EndpointTarget['command'] extends infer C ? Omit<C, 'id' | 'at'> : never) =>
  command<EndpointTarget>('endpoint', id, body as never) // The contract checks the command at its receipt.
export const change = (data: object) => ({
  type: 'ChangeEndpoint',
  data: { urlRecord: null, filters: null, active: null, ...data },
})

/**
 * Runs the service with its webhooks, and a receiver. The clock stands still until a test skips it.
 * @param observed the log and the spans of the service, for tests that read them
 */
export async function openFixture(observed: Partial<Pick<Platform, 'log' | 'tracing'>> = {}) {
  const clock = createSkippableClock({ ...systemClock, now: () => START })
  const { platform: silentPlatform, store, caller } = await createMemoryPlatform({}, clock)
  const platform = { ...silentPlatform, ...observed }
  const { ports, sealer, received, receiver } = await createWebhookPorts(platform)
  let running = await run([bind(paymentsService(), ports)], platform)
  onTestFinished(() => running.close())
  const { send } = await caller('payments')
  const waitForFact = (stream: string, type: string) =>
    waitUntil(`${type} in ${stream}`, async () => (await store.read(stream)).find((fact) => fact.type === type))
  const act = async (addressed: AddressedCommand, fact: string) => {
    await send(addressed, randomUUID())
    await waitForFact(`${addressed.category}-${addressed.id}`, fact)
  }
  const storeSecret = async (record: string, secret: string) =>
    ports.records.put(record, 'webhook-secret', await sealer.seal(record, 'webhook-secret', secret), START)
  await act(
    command<EnvironmentTarget>('environment', environmentId, {
      type: 'CreateEnvironment',
      data: {
        teamId: receiveRequest.teamId,
        type: 'SANDBOX',
        nameRecord: uuidFor(4),
        firstWalletId: receiveRequest.walletId,
        keyId: null,
      },
    }),
    'EnvironmentCreated',
  )
  await ports.records.put(
    receiveRequest.textRecord,
    'payment-text',
    JSON.stringify({
      description: 'coffee',
      metadata: '{"order":12345678901234567890}',
      idempotencyKey: 'k',
      invoice: 'lnbcrt1',
    }),
    START,
  )
  return {
    platform,
    ports,
    received,
    receiver,
    skip: clock.skip,
    act,
    waitForFact,
    storeSecret,
    /** Stops the service. It has stopped when the promise resolves. */
    stop: () => running.close(),
    restart: async () => {
      await running.close()
      running = await run([bind(paymentsService(), ports)], platform)
    },
    createEndpoint: async (id: string, filters: readonly string[] = [], url = `https://${id}.example/`) => {
      const [urlRecord, secretRecord] = [randomUUID(), randomUUID()]
      await ports.records.put(urlRecord, 'webhook-url', JSON.stringify({ url }), START)
      await storeSecret(secretRecord, firstSecret)
      const data = { environmentId, teamId: receiveRequest.teamId, urlRecord, secretRecord, filters: [...filters] }
      await act(endpointCommand(id, { type: 'CreateEndpoint', data } as never), 'EndpointCreated')
    },
    receive: (id: string, behavior: 'complete' | 'fail' | 'expire' = 'complete', walletId = receiveRequest.walletId) =>
      act(
        command<ReceiveTarget>('receive', id, { type: 'RequestReceive', data: { ...receiveRequest, walletId, behavior } }),
        'InvoiceIssued',
      ),
  }
}

export type Fixture = Awaited<ReturnType<typeof openFixture>>
/** Requests a test of the endpoint 50. Its event is 70, and its attempt 71. */
export const requestTest = (fixture: Fixture) =>
  fixture.act(
    endpointCommand(uuidFor(50), { type: 'RequestTest', data: { eventId: uuidFor(70), attemptId: uuidFor(71) } } as never),
    'TestRequested',
  )
export const typesAt = ({ received }: Fixture, endpointId: string) =>
  received.filter(({ url }) => url === `https://${endpointId}.example/`).map(({ headers }) => headers['x-webhook-event'])
export const waitForCount = (fixture: Fixture, count: number) =>
  waitUntil(`${count} webhooks`, () => (fixture.received.length >= count ? fixture.received : undefined))
/** Waits until the queue has nothing due and nothing in progress. */
export const waitForQuiet = ({ ports }: Fixture) =>
  waitUntil('a quiet queue', async () => {
    const { due, inProgress } = await ports.deliveries.count(Number.MAX_SAFE_INTEGER)
    return due === 0 && inProgress === 0
  })
