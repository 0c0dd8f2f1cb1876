import assert from 'node:assert/strict'
import { until } from '@penstock/testkit/until.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  behave,
  type Bought,
  buy,
  buyerOf,
  follow,
  graphql,
  order,
  pay,
  payment,
  type SimNode,
  simNodes,
} from '../harness/buyer.ts'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import { paidOut, report } from '../harness/report.ts'
import { handSeller } from './hand-seller.ts'

/** Some seconds more than by default: a slow machine still sees each status, and what is published in time confirms. */
const LONGER = {
  PENSTOCK_REQUIRED_CONFIRMATIONS: '8',
  PENSTOCK_FUNDING_SEEN_BLOCKS: '20',
  PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20',
}

const dataDir = scratch()
let product: Product
let sellers: readonly SimNode[]

beforeAll(async () => {
  product = await startProduct(dataDir, LONGER)
  sellers = (await simNodes(product)).filter(({ role }) => role === 'seller')
})
beforeEach(() => all('ok'))
afterAll(async () => {
  assert.equal(await product.stop(), 0)
})

const all = async (how: string): Promise<void> => {
  for (const { alias } of sellers) await behave(product, alias, how)
}
const channels = async (): Promise<readonly { outpoint: string; capacity_sat: string; peer: string; private: boolean }[]> =>
  product.operator('GET', `/sim/channels/${(await buyerOf(product)).alias}`)
const settled = (hash: string) =>
  until('the payment settled', async () => (await payment(product, hash)).state === 'SUCCEEDED', 20_000)

test('a channel is sold: paid, opened, proven, taken, paid out', async () => {
  const bought = await buy(product)
  expect(await order(product, bought)).toMatchObject({ status: 'WAITING_FOR_BUYER_PAYMENT', payment_status: 'PENDING_PAYMENT' })
  const { payment_hash: hash } = await pay(product, bought.invoice)
  expect(await follow(product, bought, ['VALID_CHANNEL_OPENING'])).toMatchObject({ payment_status: 'SUCCESSFUL_PAYMENT' })
  await settled(hash)
  const shown = await report(product, bought)
  expect(shown.statuses.map(({ status }) => status)).toEqual([
    'WAITING_FOR_SELLER_APPROVAL',
    'WAITING_FOR_BUYER_PAYMENT',
    'WAITING_FOR_CHANNEL_OPEN',
    'SELLER_SENT_TRANSACTION',
    'WAITING_FOR_ON_CHAIN_CONFIRMATION',
    'ON_CHAIN_CONFIRMATION',
    'SELLER_OPENED_CHANNEL',
    'VALID_CHANNEL_OPENING',
  ])
  const opened = (await channels()).find(({ outpoint }) => outpoint === shown.outpoint)
  expect(opened).toMatchObject({ capacity_sat: shown.size_sat, peer: shown.seller_pubkey, private: false })
  await until('the seller is paid', () => paidOut(product, bought), 30_000)
  const after = await report(product, bought)
  expect(after.payout).toMatchObject({ attempts: 1, payee: shown.seller_pubkey })
  for (const { entries } of after.ledger) expect(entries.reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)).toBe(0n)
})

test.each([{ private: true }, { rails_cluster_only: true }])('bought with %o', async (options) => {
  const bought = await buy(product, { options })
  await pay(product, bought.invoice)
  await follow(product, bought, ['VALID_CHANNEL_OPENING'])
  const { outpoint } = await report(product, bought)
  expect((await channels()).find((channel) => channel.outpoint === outpoint)?.private).toBe('private' in options)
})

test('a private channel is opened as a taproot channel, by a seller of the rails cluster alone: proven and paid as any other', async () => {
  const [seller, buyer] = [await handSeller(product), await buyerOf(product)]
  const refusal = async () =>
    seller.order(buyer).then(
      () => 'it is sold',
      (error: unknown) => String(error),
    )
  await until('its offer is known', async () => /sold by the rails cluster only/.test(await refusal()))
  await product.operator('POST', '/sellers/grant', { pubkey: seller.node.pubkey, reason: 'A test.' })
  const bought = await until('its grant is known', () => seller.order(buyer).catch(() => undefined))
  const payout = await seller.accept(await until('it is asked', () => seller.sale(bought)))
  const { payment_hash: hash } = await pay(product, await until('the buyer has an invoice', () => seller.invoice(bought)))
  await follow(product, bought, ['WAITING_FOR_CHANNEL_OPEN'])
  const outpoint = await seller.openTaproot(await until('it is to open', () => seller.sale(bought)), buyer)
  expect(await follow(product, bought, ['VALID_CHANNEL_OPENING'])).toMatchObject({ payment_status: 'SUCCESSFUL_PAYMENT' })
  await settled(hash)
  expect((await channels()).find((channel) => channel.outpoint === outpoint)).toMatchObject({
    capacity_sat: '1000000',
    peer: seller.node.pubkey,
    private: true,
  })
  // Of the rails cluster, and proven by a probe: nothing is kept back.
  await until('the seller is paid', () => paidOut(product, bought), 30_000)
  expect(await product.operator('GET', `/sim/invoices/${seller.node.alias}/${payout}`)).toMatchObject({ state: 'SETTLED' })
})

test('a seller that does not open is replaced, under the same payment', async () => {
  const bought = await buy(product)
  const shown = await report(product, bought)
  const chosen = sellers.find(({ pubkey }) => pubkey === shown.seller_pubkey)
  assert.ok(chosen)
  await behave(product, chosen.alias, 'never-open')
  const { payment_hash: hash } = await pay(product, bought.invoice)
  await follow(product, bought, ['VALID_CHANNEL_OPENING'])
  const { attempts, seller_pubkey: opener } = await report(product, bought)
  expect(attempts[0]).toMatchObject({ seller_pubkey: chosen.pubkey, status: 'replaced' })
  assert.notEqual(opener, chosen.pubkey)
  await settled(hash)
})

test.each([
  ['never-open', 'SELLER_FAILED_TO_OPEN_CHANNEL'],
  ['wrong-size', 'INVALID_CHANNEL_OPENING'],
  ['wrong-peer', 'INVALID_CHANNEL_OPENING'],
  ['vanish', 'SELLER_FAILED_TO_SEND_SWAP'],
])('every seller %s: %s, and the money is back first', async (how, status) => {
  const bought = await buy(product)
  await all(how)
  const { payment_hash: hash } = await pay(product, bought.invoice)
  await follow(product, bought, [status], 120_000)
  assert.equal((await payment(product, hash)).state, 'FAILED')
  const { hold, statuses, payout } = await report(product, bought)
  assert.equal(hold.status, 'cancelled')
  assert.ok(
    hold.cancelled_at !== null && hold.cancelled_at <= (statuses.at(-1)?.at ?? ''),
    'cancelled before the status became terminal',
  )
  assert.equal(payout.state, null)
})

test('a re-org while it confirms: still valid in the end', async () => {
  const bought = await buy(product)
  await pay(product, bought.invoice)
  await follow(product, bought, ['ON_CHAIN_CONFIRMATION', 'SELLER_OPENED_CHANNEL'])
  await product.operator('POST', '/sim/reorg', { depth: 2 })
  await follow(product, bought, ['VALID_CHANNEL_OPENING'])
})

test('sellers that fall silent sell nothing, and sell again when they answer', async () => {
  await all('silent')
  const { uri } = await buyerOf(product)
  const BUY = 'mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { order { transaction_id } } } }'
  const refused = () => graphql(product.url, BUY, { input: { connection_uri: uri, usd_cents: '500' } })
  const { errors } = await until('a purchase is refused', async () => ((await refused()).errors ? refused() : null), 60_000, 500)
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })
  await all('ok')
  await buy(product)
})

test('killed while payments are held: nothing is lost', async () => {
  await all('slow')
  const held: { bought: Bought; hash: string }[] = []
  for (let n = 0; n < 3; n++) {
    const bought = await buy(product)
    held.push({ bought, hash: (await pay(product, bought.invoice)).payment_hash })
  }
  await product.kill()
  product = await startProduct(dataDir, LONGER)
  await all('ok')
  for (const { bought, hash } of held) {
    await follow(product, bought, ['VALID_CHANNEL_OPENING'])
    await settled(hash)
  }
})

test('twenty buyers at once: every order is valid, every payment settles', async () => {
  const orders = await Promise.all(Array.from({ length: 20 }, () => buy(product)))
  const hashes = await Promise.all(orders.map(async ({ invoice }) => (await pay(product, invoice)).payment_hash))
  await Promise.all(orders.map((bought) => follow(product, bought, ['VALID_CHANNEL_OPENING'], 120_000)))
  await Promise.all(hashes.map(settled))
})

test('in the end every stream folds to its recorded state, the ledger balances, nothing is parked', async () => {
  expect(await product.operator('POST', '/audit/verify', {})).toMatchObject({
    divergences: 0,
    ledger_balanced: true,
    first: null,
  })
  expect(await product.operator('GET', '/parked')).toEqual([])
})
