import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createPaymentsClient,
  endsAs,
  issueServiceKey,
  openSandbox,
  type PaymentsAnswer,
  requireValue,
  type Sandbox,
  type ServiceKey,
  type Transaction,
} from '../support/payments-client.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'

/** Long enough to create all transactions on a slow machine before the first of them ends. */
const OUTCOME_SECONDS = 30
const TRANSACTIONS = 200
/** Requests that are open at the same time. */
const CONCURRENCY = 10
const RECEIVED_SATS = 1000
const SENT_SATS = 700
const SETTINGS = {
  PENSTOCK_SANDBOX_OUTCOME_SECONDS: `${OUTCOME_SECONDS}`,
  PENSTOCK_SERVICE_KEY_PER_MINUTE: '0',
}
const ENDS = {
  complete: { status: 'COMPLETED', event: 'payment.completed' },
  fail: { status: 'FAILED', event: 'payment.failed' },
  expire: { status: 'EXPIRED', event: 'payment.expired' },
} as const
const BEHAVIORS = ['complete', 'fail', 'expire'] as const

const dataDir = makeTempFolder()
let product: Product | undefined
let sandbox: Sandbox
let serviceKey: ServiceKey
const connect = () => createPaymentsClient(product ?? assert.fail('the product did not start'), sandbox, serviceKey)

beforeAll(async () => {
  product = await startProduct(dataDir, SETTINGS)
  sandbox = await openSandbox(product)
  serviceKey = await issueServiceKey(product, sandbox)
})
afterAll(async () => void (await product?.stop()))

type Request = { readonly index: number; readonly behavior: (typeof BEHAVIORS)[number]; readonly isSend: boolean }
const requests: readonly Request[] = Array.from({ length: TRANSACTIONS }, (_, index) => ({
  index,
  behavior: BEHAVIORS[index % BEHAVIORS.length] ?? 'expire',
  // An address has an invoice of ten minutes, so a send that expires would take too long.
  isSend: index % BEHAVIORS.length !== 2 && index % 4 === 0,
}))

/** Sends a request, or repeats it with its key. */
function request({ index, behavior, isSend }: Request): Promise<PaymentsAnswer<Transaction>> {
  const client = connect()
  const input = { idempotency_key: `killed-${index}`, ...endsAs(behavior) }
  return isSend
    ? client.send({ ...input, address: { lightning_address: 'someone@example.com', amount: `${SENT_SATS}` } })
    : client.receive({
        ...input,
        amount: `${RECEIVED_SATS}`,
        expires_in_seconds: OUTCOME_SECONDS + (behavior === 'expire' ? 0 : 600),
      })
}

/** Runs a function for each item, for a few items at a time. @returns the results in the order of the items */
async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += CONCURRENCY)
    results.push(...(await Promise.all(items.slice(from, from + CONCURRENCY).map(run))))
  return results
}

test('after a kill -9, 200 open transactions end once and as their callers asked, and their keys return them', async () => {
  const created = await mapConcurrently(requests, async (one) => requireValue(await request(one)))
  expect(requireValue(await connect().list({ filter: { status: 'PENDING' } })).total_count).toBe(TRANSACTIONS)
  await product?.kill()
  product = await startProduct(dataDir, SETTINGS)

  const repeated = await mapConcurrently(requests, async (one) => requireValue(await request(one)))
  expect(repeated.map(({ id, payment_request: invoice }) => ({ id, invoice }))).toEqual(
    created.map(({ id, payment_request: invoice }) => ({ id, invoice })),
  )

  const ended = await mapConcurrently(created, ({ id }) => connect().waitForEnd(id, 180_000))
  for (const { index, behavior } of requests) {
    const { status, events } = ended[index] ?? assert.fail(`transaction ${index} is missing`)
    const end = ENDS[behavior]
    expect({ status, events: events.map(({ event_type: type }) => type) }).toEqual({
      status: end.status,
      events: ['payment.pending', end.event],
    })
  }
  const countCompleted = (isSend: boolean): number =>
    requests.filter((one) => one.behavior === 'complete' && one.isSend === isSend).length
  const [received, sent] = [countCompleted(false) * RECEIVED_SATS, countCompleted(true) * SENT_SATS]
  const balance = { received: `${received}`, sent: `${sent}`, balance: `${received - sent}` }
  expect(await connect().readBalance()).toEqual(balance)

  // A deadline that came twice would change the state within a second.
  await sleep(1000)
  expect(await mapConcurrently(created, ({ id }) => connect().find(id))).toEqual(ended)
  expect(await connect().readBalance()).toEqual(balance)
  expect(requireValue(await connect().list()).total_count).toBe(TRANSACTIONS)
  expect(await product.operator('POST', '/audit/verify', {})).toMatchObject({ divergences: 0 })
})
