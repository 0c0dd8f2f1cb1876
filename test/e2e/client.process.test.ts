import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createClient } from '@penstock/client/index.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBuyer, paySimulatedInvoice } from '../support/market-client.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'

/** One purchase a minute, so that a second one is too many. */
const SETTINGS = { PENSTOCK_BUY_PER_MINUTE: '1' }
const COMPLETE = { metadata: JSON.stringify({ order: 42, svc_sandbox_behavior: 'complete' }) }

let product: Product
let shop: Awaited<ReturnType<typeof openShop>>
beforeAll(async () => {
  product = await startProduct(makeTempFolder(), SETTINGS)
  shop = await openShop()
})
afterAll(() => product.stop())

/** Creates an account with a sandbox and a service API key, as a shop does. */
async function openShop() {
  const { url } = product
  const { token } = await createClient({ url }).account.create({
    email: `${randomUUID()}@example.org`,
    password: 'correct horse battery staple',
  })
  const dashboard = createClient({ url, token })
  const environment = await dashboard.payment.environment.create({ name: 'shop', type: 'SANDBOX' })
  const wallets = await dashboard.payment.wallet.findMany({ environment_id: environment.id })
  const [wallet] = wallets.list
  const { plaintext_key: apiKey } = await dashboard.serviceApiKey.create({
    name: 'server of the shop',
    environment_id: environment.id,
    permissions: [
      { resource: 'PAYMENTS', level: 'WRITE' },
      { resource: 'WALLETS', level: 'READ' },
    ],
  })
  return { dashboard, wallet: wallet ?? assert.fail('the sandbox has no wallet'), service: createClient({ url, apiKey }) }
}

test('a shop takes a payment, and finds it in its list and its balance', async () => {
  const { service, wallet } = shop
  const created = await service.payment.transaction.createReceive({ wallet_id: wallet.id, amount: '1000', ...COMPLETE })
  expect(created).toMatchObject({ status: 'PENDING', direction: 'RECEIVE', amount: { full_amount: '1000' } })
  expect(created.payment_request).toMatch(/^lnbcrt/)
  const ended = await waitUntil('the end of the payment', async () => {
    const transaction = await service.payment.transaction.findOne({ id: created.id })
    return transaction.status === 'PENDING' ? null : transaction
  })
  expect(ended).toMatchObject({ status: 'COMPLETED', settle_amount: { full_amount: '1000' }, metadata: COMPLETE.metadata })
  expect((await service.payment.wallet.findOne({ id: wallet.id })).balance.balance).toBe('1000')
})

test('a list of several pages is read to its end', async () => {
  const { service, wallet } = shop
  const keys = ['list-1', 'list-2', 'list-3']
  for (const idempotency_key of keys)
    await service.payment.transaction.createReceive({ wallet_id: wallet.id, amount: '7', idempotency_key })
  const input = { wallet_id: wallet.id, filter: { status: 'PENDING' }, page: { limit: 2 } } as const
  const ids = new Set<string>()
  for await (const { id } of service.payment.transaction.findMany.all(input)) ids.add(id)
  expect(ids.size).toBe((await service.payment.transaction.findMany(input)).total_count)
  expect(ids.size).toBeGreaterThanOrEqual(keys.length)
})

test('a repeated key returns the first invoice, and tells that the input differs', async () => {
  const { service, wallet } = shop
  const input = { wallet_id: wallet.id, amount: '10', idempotency_key: 'order-1' }
  const first = await service.payment.transaction.createReceive(input)
  const extensions: unknown[] = []
  const repeated = await service.payment.transaction.createReceive(
    { ...input, amount: '20' },
    { onExtensions: (value) => extensions.push(value) },
  )
  expect(repeated.payment_request).toBe(first.payment_request)
  expect(extensions).toEqual([{ idempotency_replayed: true, idempotency_mismatch: true }])
})

test('each kind of refusal has its code', async () => {
  const { service, wallet } = shop
  const { url } = product
  const input = { wallet_id: wallet.id, amount: '1' }
  await expect(createClient({ url, apiKey: 'unknown' }).payment.transaction.createReceive(input)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: 'Unauthorized token',
  })
  await expect(service.payment.wallet.delete({ id: wallet.id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(service.payment.transaction.createReceive({ ...input, amount: '0' })).rejects.toMatchObject({
    code: 'GRAPHQL_VALIDATION_FAILED',
    errors: [{ path: ['payment', 'transaction', 'create_receive'] }],
  })
  await expect(createClient({ url: 'http://127.0.0.1:1', maxRetries: 0 }).account.me()).rejects.toMatchObject({
    code: 'NETWORK_ERROR',
  })
})

test('a buyer gets a channel, and a second purchase within a minute is too many', async () => {
  const market = createClient({ url: product.url })
  expect(Number((await market.market.liquidity.liquidityPerUsd()).sats)).toBeGreaterThan(0)
  const input = { connection_uri: (await findBuyer(product)).uri, usd_cents: '500' }
  const { account, order, payment } = await market.liquidity.buy(input)
  await expect(market.liquidity.buy(input)).rejects.toMatchObject({ code: 'RATE_LIMITED', status: 429 })
  await paySimulatedInvoice(product, payment.lightning_invoice)
  const buyer = createClient({ url: product.url, token: account.session_key })
  const sold = await waitUntil('a valid channel', async () => {
    const current = await buyer.user.market.orders.getOrder({ order_id: order.transaction_id })
    return current.status === 'VALID_CHANNEL_OPENING' ? current : null
  })
  expect(sold.channel_id).not.toBeNull()
  expect((await buyer.user.transactions.transactionList()).list.map(({ id }) => id)).toEqual([order.transaction_id])
})
