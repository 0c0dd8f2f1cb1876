import assert from 'node:assert/strict'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  requireValue,
  type Sandbox,
  type ServiceKey,
} from '../support/payments-client.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'
import { type AnswerWebhook, signatureOf, startWebhookReceivers } from '../support/webhook-receivers.ts'
import { createWebhooksClient, type LoggedWebhook, WEBHOOK_PERMISSIONS } from '../support/webhooks-client.ts'

const TRANSACTIONS = 200
/** Requests that are open at the same time. */
const CONCURRENCY = 10
/** The kill comes after so many ends at the healthy receiver, when most transactions are open or have deliveries under way. */
const ENDS_BEFORE_KILL = 20
const OUTCOME_SECONDS = 8
const DELIVERED_WITHIN_MS = 240_000
/** A call of this length gives its place among the quick calls back. */
const SLOW_MS = 1200
const SETTINGS = {
  PENSTOCK_SANDBOX_OUTCOME_SECONDS: `${OUTCOME_SECONDS}`,
  PENSTOCK_SERVICE_KEY_PER_MINUTE: '0',
  PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1',
  PENSTOCK_WEBHOOK_WAITS_SECONDS: '1,1,1,2,2,2,2',
}
const BEHAVIORS = ['complete', 'fail', 'expire'] as const
const ENDS = { complete: 'payment.completed', fail: 'payment.failed', expire: 'payment.expired' } as const
const PATHS = ['healthy', 'recovering', 'slow', 'failing', 'hanging', 'garbage', 'closing'] as const
type Path = (typeof PATHS)[number]
const ANSWERS: Record<Path, AnswerWebhook> = {
  healthy: () => 204,
  recovering: ({ repetition }) => (repetition === 0 ? 500 : 200),
  slow: () => ({ status: 200, afterMs: SLOW_MS }),
  failing: () => 500,
  hanging: () => 'hang',
  garbage: () => 'garbage',
  closing: () => 'close',
}
/** The slow receiver takes one type only. All events would take it several minutes. */
const FILTERS: Partial<Record<Path, readonly string[]>> = { slow: [ENDS.complete] }

const dataDir = makeTempFolder()
let product: Product | undefined
let sandbox: Sandbox
let serviceKey: ServiceKey
let receivers: Awaited<ReturnType<typeof startWebhookReceivers<Path>>>
const connect = () => createPaymentsClient(product ?? assert.fail('the product did not start'), sandbox, serviceKey)

beforeAll(async () => {
  receivers = await startWebhookReceivers(ANSWERS)
  product = await startProduct(dataDir, SETTINGS)
  sandbox = await openSandbox(product)
  serviceKey = await issueServiceKey(product, sandbox, WEBHOOK_PERMISSIONS)
})
afterAll(async () => {
  await product?.stop()
  await receivers.stop()
})

async function createEndpoints(): Promise<Readonly<Record<string, { readonly id: string; readonly secret: string }>>> {
  const webhooks = createWebhooksClient(connect(), sandbox)
  const created = PATHS.map(async (path) => {
    const input = { url: receivers.urlOf(path), ...(FILTERS[path] && { event_filters: FILTERS[path] }) }
    const { secret, endpoint } = requireValue(await webhooks.createEndpoint(input))
    return [path, { id: endpoint.id, secret }] as const
  })
  return Object.fromEntries(await Promise.all(created))
}

/** Creates the transactions. @returns the ids of their events in order, by the id of the transaction */
async function createTransactions(): Promise<ReadonlyMap<string, readonly string[]>> {
  const expected = new Map<string, readonly string[]>()
  for (let from = 0; from < TRANSACTIONS; from += CONCURRENCY)
    await Promise.all(
      Array.from({ length: CONCURRENCY }, async (_, offset) => {
        const behavior = BEHAVIORS[(from + offset) % BEHAVIORS.length] ?? 'expire'
        const expiry = OUTCOME_SECONDS + (behavior === 'expire' ? 0 : 600)
        const { id } = requireValue(await connect().receive({ ...endsAs(behavior), expires_in_seconds: expiry }))
        expected.set(id, [`payment.pending:${id}`, `${ENDS[behavior]}:${id}`])
      }),
    )
  return expected
}

const idsAt = (path: Path): ReadonlySet<string> => new Set(receivers.at(path).map(({ envelopeId }) => envelopeId))
const acceptedAt = (path: Path): ReadonlySet<string> =>
  new Set(
    receivers
      .at(path)
      .filter(({ status }) => status >= 200 && status < 300)
      .map(({ envelopeId }) => envelopeId),
  )
const envelopeIdOf = ({ event_type: type, transaction_id: id }: LoggedWebhook): string => `${type}:${id}`

test('after a kill -9, each receiver that answers 2xx gets each event, although other receivers hang and fail', async () => {
  const endpoints = await createEndpoints()
  const expected = await createTransactions()
  const all = new Set([...expected.values()].flat())
  const countEnds = () => [...idsAt('healthy')].filter((id) => !id.startsWith('payment.pending:')).length
  await waitUntil('the first ends are delivered', () => countEnds() >= ENDS_BEFORE_KILL, 120_000)
  await product?.kill()
  expect(countEnds()).toBeLessThan(TRANSACTIONS)
  product = await startProduct(dataDir, SETTINGS)

  const wanted = {
    healthy: all,
    recovering: all,
    slow: new Set([...all].filter((id) => id.startsWith(ENDS.complete))),
  } as const
  for (const path of ['healthy', 'recovering', 'slow'] as const)
    await waitUntil(
      `all events are accepted at ${path}`,
      () => acceptedAt(path).size === wanted[path].size,
      DELIVERED_WITHIN_MS,
      50,
    )
  for (const path of ['healthy', 'recovering', 'slow'] as const) expect(acceptedAt(path)).toEqual(wanted[path])
  for (const path of ['failing', 'hanging', 'garbage', 'closing'] as const)
    await waitUntil(`an event reaches ${path}`, () => receivers.at(path).length > 0)

  const logged = await createWebhooksClient(connect(), sandbox).listEvents()
  expect(new Set(logged.map(envelopeIdOf))).toEqual(all)
  expect(logged.length).toBe(all.size)
  for (const path of PATHS) {
    const bodies = new Map<string, string>()
    for (const webhook of receivers.at(path)) {
      const { envelopeId, body, headers, eventType } = webhook
      expect(all).toContain(envelopeId)
      expect(body).toBe(bodies.get(envelopeId) ?? body)
      bodies.set(envelopeId, body)
      expect(headers).toMatchObject({
        'x-webhook-signature': signatureOf(webhook, endpoints[path]?.secret ?? ''),
        'x-webhook-event': eventType,
        'webhook-id': envelopeId,
      })
    }
  }

  // The kill may end a first attempt before its request is sent. Its repetition then waits for nobody.
  const healthy = endpoints['healthy']?.id
  const interrupted = new Set(
    logged
      .filter(({ deliveries }) => deliveries.some(({ webhook_endpoint_id: id, status }) => id === healthy && status === 'FAILED'))
      .map(({ transaction_id: id }) => id),
  )
  expect(interrupted.size).toBeLessThan(TRANSACTIONS / 2)
  const arrivals = [...idsAt('healthy')]
  for (const [id, events] of [...expected].filter(([id]) => !interrupted.has(id)))
    expect(arrivals.filter((one) => one.endsWith(id))).toEqual(events)

  for (const { deliveries } of logged)
    for (const path of ['failing', 'hanging', 'garbage', 'closing'] as const) {
      const attempts = deliveries.filter(({ webhook_endpoint_id: id }) => id === endpoints[path]?.id)
      expect(attempts.map(({ attempt_number: number }) => number)).toEqual(attempts.map((_, index) => index + 1))
      expect(attempts.length).toBeLessThanOrEqual(8)
      expect(attempts.filter(({ status }) => status === 'SUCCESS')).toEqual([])
    }
  expect(await product.operator('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
})
