import fc from 'fast-check'
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import type { ServiceCaller } from '../../access.ts'
import { NOW, readPath } from '../../gateway-harness.fixture.ts'
import { FIND_ONE, FOREIGN_TEAM, openPaymentsHarness, type PaymentsHarness, RECEIVE, SEND, TEAM } from '../payments.fixture.ts'

const FIND_MANY =
  'query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { total_count pagination { limit offset } list { id status direction fee description metadata settled_at created_at amount { full_amount } } } } } }'
const CREATE_WALLET = 'mutation ($input: CreatePaymentsWalletInput!) { payment { wallet { create(input: $input) { id } } } }'
const BALANCE = 'query ($id: String!) { payment { wallet { find_one(id: $id) { balance { balance received sent } } } } }'
const BTC = 'b7c0b1de-0000-4000-8000-000000000001'

type Listed = {
  readonly total_count: number
  readonly list: readonly {
    readonly id: string
    readonly created_at: string
    readonly status: string
    readonly description: string
  }[]
}

let payments: PaymentsHarness
let environmentId: string
let walletId: string
beforeEach(async () => {
  payments = await openPaymentsHarness()
  ;({ environmentId, walletId } = await payments.createSandbox())
})
afterEach(() => payments.harness.close())

const listed = (input: object): Promise<Listed> => payments.call(FIND_MANY, { input }, 'payment.transaction.find_many')
const receive = (input: object = {}): Promise<string> =>
  payments.call(RECEIVE, { input: { wallet_id: walletId, amount: '1000', ...input } }, 'payment.transaction.create_receive.id')
const send = (input: object = {}): Promise<string> => {
  const address = { lightning_address: 'a@example.com', amount: '700' }
  return payments.call(SEND, { input: { wallet_id: walletId, address, ...input } }, 'payment.transaction.create_send.id')
}
const createWallet = (): Promise<string> =>
  payments.call(
    CREATE_WALLET,
    { input: { name: 'second', environment_id: environmentId, asset_id: BTC } },
    'payment.wallet.create.id',
  )

test('transactions are listed newest first, and consecutive pages list each of them once', async () => {
  const ids: string[] = []
  for (let index = 0; index < 7; index++) ids.unshift(await receive({ description: `number ${index}` }))
  const seen: string[] = []
  for (const offset of [0, 3, 6]) {
    const page = await listed({ environment_id: environmentId, page: { limit: 3, offset } })
    assert.equal(page.total_count, 7)
    seen.push(...page.list.map(({ id }) => id))
  }
  assert.deepEqual(seen, ids)
  assert.equal((await listed({ wallet_id: walletId })).list[0]?.description, 'number 6')
})

test('filters select by direction, status and time', async () => {
  const completed = await receive()
  const failed = await receive()
  const sent = await send()
  const expired = await send()
  await payments.complete('receive', completed, 1_000_000n)
  await payments.fail('receive', failed)
  await payments.expire('send', expired)
  const filtered = async (filter: object, scope: object = { environment_id: environmentId }) => {
    const { total_count, list } = await listed({ ...scope, filter })
    assert.equal(total_count, list.length)
    return list.map(({ id }) => id)
  }
  assert.deepEqual(await filtered({ direction: 'RECEIVE' }), [failed, completed])
  assert.deepEqual(await filtered({ direction: 'SEND' }, { wallet_id: walletId }), [expired, sent])
  assert.deepEqual(await filtered({ status: 'COMPLETED' }), [completed])
  assert.deepEqual(await filtered({ status: 'PENDING' }), [sent])
  assert.deepEqual(await filtered({ status: 'EXPIRED', direction: 'RECEIVE' }), [])
  const all = await listed({ wallet_id: walletId })
  const [from, to] = [all.list[2]?.created_at, all.list[0]?.created_at]
  assert.deepEqual(await filtered({ date_range: { from, to } }), [sent, failed])
  assert.deepEqual(await filtered({ date_range: { from } }), [expired, sent, failed])
  assert.deepEqual(await filtered({ date_range: { to: new Date(NOW).toISOString() } }), [])
})

test.each([
  [{}, /exactly one/],
  [{ wallet_id: 'both', environment_id: 'both' }, /exactly one/],
  [{ wallet_id: 'own', page: { limit: 101 } }, /page.limit/],
  [{ wallet_id: 'own', page: { limit: 0 } }, /page.limit/],
  [{ wallet_id: 'own', page: { offset: -1 } }, /page.offset/],
  [{ wallet_id: 'own', filter: { date_range: { from: 'yesterday' } } }, /date_range.from/],
])('a wrong list is refused: %j', async (input, message) => {
  const { errors } = await payments.gql(FIND_MANY, {
    input: { ...input, ...('page' in input || 'filter' in input ? { wallet_id: walletId } : {}) },
  })
  assert.equal(errors?.[0]?.extensions['code'], 'GRAPHQL_VALIDATION_FAILED')
  assert.match(errors[0].message, message)
})

test('transactions of a foreign team are answered like unknown ones', async () => {
  const id = await receive()
  const stranger = await payments.logIn(FOREIGN_TEAM)
  const messageOf = async (document: string, variables: object) =>
    (await payments.gql(document, variables, stranger)).errors?.[0]?.message
  assert.equal(await messageOf(FIND_ONE, { id }), 'Transaction not found')
  assert.equal(await messageOf(FIND_MANY, { input: { wallet_id: walletId } }), 'Wallet not found')
  assert.equal(await messageOf(FIND_MANY, { input: { environment_id: environmentId } }), 'Environment not found')
  const unknown = await payments.gql(FIND_ONE, { id: environmentId })
  assert.equal(unknown.errors?.[0]?.message, 'Transaction not found')
})

test('the lists of a key for one wallet show its wallet alone', async () => {
  const second = await createWallet()
  const [own, other] = [await receive(), await receive({ wallet_id: second })]
  assert.equal((await listed({ environment_id: environmentId })).total_count, 2)
  const key: ServiceCaller = {
    keyId: TEAM,
    teamId: TEAM,
    environmentId,
    walletId,
    permissions: [{ resource: 'PAYMENTS', level: 'READ' }],
  }
  const { data } = await payments.callWithKey(key, FIND_MANY, { input: { environment_id: environmentId } })
  const answer = { status: 200, headers: new Headers(), data }
  assert.equal(readPath(answer, 'payment.transaction.find_many.total_count'), 1)
  assert.equal(readPath(answer, 'payment.transaction.find_many.list.0.id'), own)
  const foreign = await payments.callWithKey(key, FIND_ONE, { id: other })
  assert.equal(foreign.errors?.[0]?.message, 'Transaction not found')
  const write = await payments.callWithKey(key, RECEIVE, { input: { wallet_id: walletId, amount: '1' } })
  assert.equal(write.errors?.[0]?.extensions['code'], 'FORBIDDEN')
})

test('the list of an environment excludes the transactions of a deleted wallet', async () => {
  const second = await createWallet()
  const [own] = [await receive(), await receive({ wallet_id: second })]
  await payments.gql('mutation ($id: String!) { payment { wallet { delete(id: $id) } } }', { id: second })
  const { total_count, list } = await listed({ environment_id: environmentId })
  assert.deepEqual([total_count, list.map(({ id }) => id)], [1, [own]])
})

test('a page of 100 costs more than a page of 10', async () => {
  const wide = `query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) { list { ${Array.from({ length: 60 }, (_, index) => `a${index}: id`).join(' ')} } } } } }`
  const cheap = await payments.gql(wide, { input: { wallet_id: walletId } })
  assert.equal(cheap.errors, undefined)
  const costly = await payments.gql(wide, { input: { wallet_id: walletId, page: { limit: 100 } } })
  assert.match(costly.errors?.[0]?.message ?? '', /costs \d+ points/)
})

const outcome = fc.record({
  direction: fc.constantFrom('receive' as const, 'send' as const),
  end: fc.constantFrom('open', 'complete', 'fail', 'expire'),
  amountMsat: fc.bigInt({ min: 1n, max: 10n ** 19n - 1n }),
  feeMsat: fc.bigInt({ min: 0n, max: 10_000n }),
})

test('the balance of a wallet is the sum of the figures that its transactions show', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(outcome, { maxLength: 8 }), async (outcomes) => {
      const fresh = await payments.createSandbox()
      for (const { direction, end, amountMsat, feeMsat } of outcomes) {
        const id = await (direction === 'receive' ? receive({ wallet_id: fresh.walletId }) : send({ wallet_id: fresh.walletId }))
        if (end === 'complete') await payments.complete(direction, id, amountMsat, feeMsat)
        if (end === 'fail') await payments.fail(direction, id)
        if (end === 'expire') await payments.expire(direction, id)
      }
      const { total_count, list } = await listed({ wallet_id: fresh.walletId })
      assert.equal(total_count, outcomes.length)
      const sums = { received: 0n, sent: 0n, fees: 0n }
      for (const { id } of list) {
        const shown = readPath(await payments.gql(FIND_ONE, { id }), 'payment.transaction.find_one') as {
          settle_amount: { full_amount: string } | null
          fee: string | null
        }
        const amount = BigInt(shown.settle_amount?.full_amount ?? 0)
        if (shown.fee === null) sums.received += amount
        else sums.sent += amount
        sums.fees += BigInt(shown.fee ?? 0)
      }
      assert.deepEqual(await payments.call(BALANCE, { id: fresh.walletId }, 'payment.wallet.find_one.balance'), {
        balance: `${sums.received - sums.sent - sums.fees}`,
        received: `${sums.received}`,
        sent: `${sums.sent}`,
      })
      for (const status of ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED']) {
        const filtered = await listed({ wallet_id: fresh.walletId, filter: { status } })
        assert.equal(filtered.total_count, filtered.list.length)
      }
    }),
    { numRuns: 8 },
  )
})
