import { DAY_MS, HOUR_MS } from '@penstock/kernel/time.ts'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { deleteEnvironments, eraseDeletedContent } from './erase.ts'
import { openServiceKeysHarness, type ServiceKeysHarness } from './keys/service-keys.fixture.ts'
import { FOREIGN_TEAM, RECEIVE, SEND, TEAM } from './payments.fixture.ts'
import { type ErasureTables, withPaymentsTables } from './views/tables.ts'

const DELETE = 'mutation ($id: String!) { payment { environment { delete(id: $id) } } }'
const DELETE_WALLET = 'mutation ($id: String!) { payment { wallet { delete(id: $id) } } }'
const CREATE_WALLET = 'mutation ($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { id } } } }'
const CREATE_KEY = 'mutation ($input: CreateServiceApiKeyInput!) { service_api_key { create(input: $input) { id } } }'
const RENAME_KEY = 'mutation ($id: String!) { service_api_key { update(id: $id, input: { name: "late" }) { id } } }'
const BTC = 'b7c0b1de-0000-4000-8000-000000000001'

let market: ServiceKeysHarness
beforeEach(async () => void (market = await openServiceKeysHarness()))
afterEach(() => market.harness.close())

/** Runs the prune job of payments, `ms` after the deletion. */
const runErasure = (ms = HOUR_MS, more: Partial<Parameters<typeof eraseDeletedContent>[0]> = {}) => {
  const { gateway } = market.harness
  return eraseDeletedContent({ ...gateway, clock: { ...gateway.clock, now: () => gateway.clock.now() + ms }, ...more })
}
/** The stored texts of environments, wallets, keys and transactions. */
const listTexts = async (): Promise<readonly string[]> => {
  const db = market.harness.gateway.views.db.$extendTables<{ records: { json: string } }>()
  const rows = await db.selectFrom('records').select('json').execute()
  return rows
    .map(({ json }) => JSON.parse(json) as { readonly name?: string; readonly description?: string })
    .map(({ name, description }) => name ?? description ?? '')
    .toSorted()
}
const listErasures = async () => {
  const db = market.harness.gateway.views.db.$extendTables<ErasureTables>()
  return (await db.selectFrom('gateway_payments_erasures').select('id').execute()).map(({ id }) => id)
}

const receive = (walletId: string, description: string): Promise<string> =>
  market.call(RECEIVE, { input: { wallet_id: walletId, amount: '1', description } }, 'payment.transaction.create_receive.id')
const remove = (document: string, id: string) => market.gql(document, { id })
const createWallet = (environmentId: string, name: string): Promise<string> =>
  market.call(CREATE_WALLET, { input: { name, environment_id: environmentId, asset_id: BTC } }, 'payment.wallet.create.id')

test('the texts of a deleted environment are erased, and other texts stay', async () => {
  const { environmentId, walletId } = market
  const other = await market.createSandbox('other shop')
  await createWallet(environmentId, 'tips')
  const permissions = [{ resource: 'WALLETS', level: 'READ' }]
  await market.call(
    CREATE_KEY,
    { input: { name: 'server', environment_id: environmentId, permissions } },
    'service_api_key.create',
  )
  await market.complete('receive', await receive(walletId, 'coffee'), 1000n)
  await market.complete('receive', await receive(other.walletId, 'tea'), 1000n)
  const before = ['coffee', 'other shop', 'server', 'shop', 'tea', 'tips']
  assert.deepEqual(await listTexts(), before)
  await runErasure()
  assert.deepEqual(await listTexts(), before)
  await remove(DELETE, environmentId)
  await runErasure()
  assert.deepEqual(await listTexts(), ['other shop', 'tea'])
})

test('the texts of a deleted wallet are erased, and those of its environment stay', async () => {
  const { environmentId, walletId } = market
  const tips = await createWallet(environmentId, 'tips')
  await market.fail('receive', await receive(tips, 'coffee'))
  await market.expire('receive', await receive(walletId, 'tea'))
  await remove(DELETE_WALLET, tips)
  await runErasure()
  assert.deepEqual(await listTexts(), ['shop', 'tea'])
})

test('the texts of an open transaction are erased after its end', async () => {
  const { environmentId, walletId } = market
  const id = await receive(walletId, 'coffee')
  await remove(DELETE, environmentId)
  await runErasure()
  await runErasure(2 * DAY_MS)
  assert.deepEqual(await listTexts(), ['coffee'])
  await market.expire('receive', id)
  await runErasure(3 * DAY_MS + HOUR_MS)
  assert.deepEqual([await listTexts(), await listErasures()], [[], []])
})

test('the texts of a send that another send stands for are erased', async () => {
  const { environmentId, walletId } = market
  const bolt11 = await market.call<string>(
    RECEIVE,
    { input: { wallet_id: walletId, amount: '1', description: 'coffee' } },
    'payment.transaction.create_receive.payment_request',
  )
  for (const idempotency_key of ['a', 'b'])
    await market.gql(SEND, { input: { wallet_id: walletId, request: { bolt11 }, idempotency_key } })
  const { views } = market.harness.gateway
  const sends = await withPaymentsTables(views)
    .selectFrom('gateway_transactions')
    .selectAll()
    .where('direction', '=', 'SEND')
    .execute()
  assert.deepEqual(new Set(sends.map(({ status }) => status)), new Set(['PENDING', null]))
  await remove(DELETE, environmentId)
  await runErasure()
  // The texts of the receive and of the first send stay, because both are open.
  assert.deepEqual(await listTexts(), ['coffee', 'coffee'])
})

test('the texts of a transaction that appears after the first pass are erased a day later', async () => {
  const { environmentId, walletId } = market
  const { views } = market.harness.gateway
  await market.complete('receive', await receive(walletId, 'coffee'), 1000n)
  const table = withPaymentsTables(views)
  const row = await table.selectFrom('gateway_transactions').selectAll().executeTakeFirstOrThrow()
  await table.deleteFrom('gateway_transactions').execute()
  await remove(DELETE, environmentId)
  await runErasure()
  await table.insertInto('gateway_transactions').values(row).execute()
  assert.deepEqual(await listTexts(), ['coffee'])
  assert.deepEqual(await listErasures(), [environmentId])
  await runErasure(DAY_MS + 2 * HOUR_MS)
  assert.deepEqual([await listTexts(), await listErasures()], [[], []])
})

test('an interrupted erasure is continued, and deletes a page of records at a time', async () => {
  const { environmentId, walletId } = market
  const { records, views } = market.harness.gateway
  await market.complete('receive', await receive(walletId, 'coffee'), 1000n)
  const table = withPaymentsTables(views)
  const row = await table.selectFrom('gateway_transactions').selectAll().executeTakeFirstOrThrow()
  for (let n = 0; n < 1200; n++) {
    const id = `copy ${n}`
    await records.put(id, 'payment-text', '{"description":"copy"}', 1)
    await table
      .insertInto('gateway_transactions')
      .values({ ...row, id, view: JSON.stringify({ ...(JSON.parse(row.view) as object), textRecord: id }) })
      .execute()
  }
  await remove(DELETE, environmentId)
  const sizes: number[] = []
  const failing = {
    ...records,
    async delete(...ids: readonly string[]) {
      sizes.push(ids.length)
      if (sizes.length > 5) throw new Error('the process ends')
      await records.delete(...ids)
    },
  }
  await assert.rejects(runErasure(HOUR_MS, { records: failing }), /the process ends/)
  assert.deepEqual(sizes.filter((size) => size > 100).slice(0, 2), [500, 500])
  assert.notEqual((await listTexts()).length, 0)
  await runErasure()
  assert.deepEqual(await listTexts(), [])
})

test('the environments of a deleted team are deleted, and those of other teams stay', async () => {
  const foreign = await market.createSandbox('foreign', await market.logIn(FOREIGN_TEAM))
  await market.createSandbox('second')
  assert.equal(await deleteEnvironments(market.harness.gateway, TEAM), true)
  assert.equal(market.listSent('DeleteEnvironment').length, 2)
  assert.equal(await deleteEnvironments(market.harness.gateway, TEAM), false)
  await runErasure()
  assert.deepEqual(await listTexts(), ['foreign'])
  assert.ok(!market.listSent('DeleteEnvironment').some(({ id }) => id === foreign.environmentId))
})

test('a key of a deleted environment gets no new name', async () => {
  const { id } = await market.issueKey({ environmentId: market.environmentId })
  await remove(DELETE, market.environmentId)
  assert.equal((await remove(RENAME_KEY, id)).errors?.[0]?.message, 'Service API key not found')
})
