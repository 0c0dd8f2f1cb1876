import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { type GraphqlResult, NOW, readPath } from '../../gateway-harness.fixture.ts'
import { codeOf } from '../keys/service-keys.fixture.ts'
import { FIND_ONE, openPaymentsHarness, RECEIVE, SEND } from '../payments.fixture.ts'
import { openWebhooksHarness, type WebhooksHarness } from '../webhooks/webhooks.fixture.ts'
import type { ClientDocument, DocumentObjects } from './client-document.fixture.ts'
import { environmentDocuments } from './environments.fixture.ts'
import { transactionDocuments } from './transactions.fixture.ts'
import { walletDocuments } from './wallets.fixture.ts'
import { webhookDocuments } from './webhooks.fixture.ts'

const documents = [...environmentDocuments, ...walletDocuments, ...transactionDocuments, ...webhookDocuments]
/** The refusal of a field, an argument or a value that the gateway does not serve. */
const NOT_SERVED = /^Cannot query field|^Unknown (?:type|argument)|is not defined by type|not served yet/
const served = documents.filter(({ servedWith }) => servedWith === undefined)
const later = documents.filter(({ servedWith }) => servedWith !== undefined)

let market: WebhooksHarness
let service: { readonly id: string; readonly key: string }
let objects: DocumentObjects
beforeAll(async () => void (market = await openWebhooksHarness()))
afterAll(() => market.harness.close())
// Each document has a sandbox of its own, since some documents delete it.
beforeEach(async () => {
  const { environmentId, walletId } = await market.createSandbox()
  service = await market.issueKey({ environmentId })
  const { id: transactionId, payment_hash: paymentHash } = await receive({ wallet_id: walletId })
  await market.complete('receive', transactionId, 1_000_000n)
  const [invoice, openInvoice] = [encodeInvoice('ab', 5_000_000n), encodeInvoice('cd')]
  const { id: endpointId } = await market.create({ environment_id: environmentId })
  const delivery = { endpointId, attemptId: market.harness.gateway.ids.uuid(), maxAttempts: 8 }
  const { id: eventId } = await market.recordEvent({ environmentId, walletId, transactionId }, [delivery])
  const payments = { environmentId, walletId, transactionId, paymentHash, invoice, openInvoice, btc: btcAsset.id }
  objects = { ...payments, keyId: service.id, endpointId, eventId }
})

type Receive = { readonly id: string; readonly payment_hash: string; readonly payment_request: string }
const receive = (input: object): Promise<Receive> =>
  market.call<Receive>(RECEIVE, { input: { amount: '1000', ...input } }, 'payment.transaction.create_receive')
const encodeInvoice = (hash: string, amountMsat?: bigint): string =>
  encodePaymentRequest(
    {
      network: 'mainnet',
      paymentHash: hash.repeat(32),
      paymentSecret: 'ef'.repeat(32),
      createdAt: NOW,
      expirySeconds: 3600,
      cltvDelta: 18,
      description: 'beer',
      ...(amountMsat !== undefined && { amountMsat }),
    },
    new Uint8Array(32).fill(7),
  )

function execute({ document, variables, caller }: ClientDocument): Promise<GraphqlResult> {
  const values = variables?.(objects) ?? {}
  switch (caller) {
    case 'dashboard':
      return market.gql(document, values)
    case 'service':
      return market.gqlWithKey(service.key, document, values)
    case 'nobody':
      return market.harness.post(document, values, {})
  }
}

describe('documents of clients', () => {
  test.each(served)('the gateway answers: $name', async (document) => {
    const answer = await execute(document)
    assert.equal(answer.errors, undefined)
    assert.notEqual(readPath(answer, document.path) ?? null, null)
  })
  test.each(later)('the gateway refuses until $servedWith are served: $name', async (document) => {
    const sentBefore = market.harness.sent.length
    const answer = await execute(document)
    assert.equal(codeOf(answer), 'GRAPHQL_VALIDATION_FAILED')
    assert.match(answer.errors?.[0]?.message ?? '', NOT_SERVED)
    assert.equal(market.harness.sent.length, sentBefore)
  })
  test('are named once', () => {
    assert.equal(new Set(documents.map(({ name }) => name)).size, documents.length)
  })
})

describe('requests of clients', () => {
  const LIST = '{ payment { wallet { find_many { total_count } } } }'
  const postText = async (path: string, body: string): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', 'x-api-key': service.key }
    const response = await fetch(`${market.harness.base}${path}`, { method: 'POST', headers, body })
    return response.json()
  }
  test('may have a slash at the end of the path', async () => {
    const answer = await postText('/graphql/', JSON.stringify({ query: LIST }))
    assert.deepEqual(answer, { data: { payment: { wallet: { find_many: { total_count: 1 } } } } })
  })
  test('may name the bounds of a page with a decimal point', async () => {
    const query =
      'query ($page: PageInput) { payment { wallet { find_many(input: { page: $page }) { pagination { limit offset } } } } }'
    const answer = await postText('/graphql', `{"query": "${query}", "variables": {"page": {"limit": 10.0, "offset": 0.0}}}`)
    assert.deepEqual(answer, { data: { payment: { wallet: { find_many: { pagination: { limit: 10, offset: 0 } } } } } })
  })
  test('may pay an invoice again after a failure, with its payment hash as the key of the first payment', async () => {
    const { payment_request: bolt11, payment_hash: hash } = await receive({
      wallet_id: objects.walletId,
      idempotency_key: 'rent',
    })
    const pay = (idempotency_key: string) => {
      const input = { wallet_id: objects.walletId, request: { bolt11 }, idempotency_key }
      return market.call<{ readonly id: string }>(SEND, { input }, 'payment.transaction.create_send')
    }
    const { id } = await pay(hash)
    assert.equal((await pay(hash)).id, id)
    const answer = await market.gqlWithKey(service.key, FIND_ONE, { lightning: { payment_hash: hash } })
    assert.equal(readPath(answer, 'payment.transaction.find_one.id'), id)
  })
})

test('values in dollars are null without a fresh rate', async () => {
  const payments = await openPaymentsHarness({ rate: null })
  const { walletId } = await payments.createSandbox()
  const value = await payments.call<unknown>(
    RECEIVE,
    { input: { wallet_id: walletId, amount: '1' } },
    'payment.transaction.create_receive.amount.value',
  )
  assert.deepEqual(value, { usd_value: null })
  const prices = await payments.call<unknown>(
    '{ public { assets { supported { list { prices { usd } } } } } }',
    {},
    'public.assets.supported.list.0.prices',
  )
  assert.deepEqual(prices, { usd: null })
  await payments.harness.close()
})
