import { account } from '@penstock/contracts/accounts.ts'
import { hashEmail } from '@penstock/runtime/credentials.ts'
import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { placed } from '../fake-market.contract.ts'
import { type Answering, at, type Stage, stage } from '../stage.contract.ts'
import { tablesOf } from '../views/tables.ts'
import { eraseDeleted } from './erase.ts'

const CREATE = 'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token account { id } } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const KEY = 'mutation { account { create_api_key(input: { name: "my bot" }) { key } } }'
const DELETE = 'mutation D($input: DeleteAccountInput!) { account { delete(input: $input) { id success } } }'
const ME = '{ account { me { id } } }'
const owner = { email: 'ann@example.org', password: 'correct horse battery' }
const ORDER = '10000000-0000-4000-8000-000000000001'
const OFFER = '20000000-0000-4000-8000-000000000002'
const stranger = '30000000-0000-4000-8000-000000000003'
const pubkey = '02'.padEnd(66, '1')

let market: Stage
let token: string
let accountId: string
/** Accounts by the hash of their address. */
let claims: Map<string, string>

/** The services of accounts and offers in short. */
const service: Answering = async (ask, options) => {
  const data = ask.command.data as Record<string, unknown>
  const happens = (...facts: Parameters<Stage['happens']>[2]) => market.happens(ask.category, ask.id, facts, options.commandId)
  switch (ask.command.type) {
    case 'ClaimEmail': {
      if (claims.has(ask.id)) return market.outcome(ask, options, { code: 'ACCOUNT_REFUSED', message: 'taken' })
      const { tokenHash, tokenExpiresAt: expiresAt, accountId: id, ...rest } = data
      claims.set(ask.id, String(id))
      await happens({ type: 'EmailClaimed', data })
      return market.happens(account.category, String(id), [
        { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
        { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
      ])
    }
    case 'ReleaseEmail':
      claims.delete(ask.id)
      return happens({ type: 'EmailReleased', data })
    case 'CreateApiKey':
      return happens({ type: 'ApiKeyCreated', data })
    case 'ToggleOffer':
      return happens({ type: 'OfferDisabled', data: {} })
    case 'DeleteAccount':
      return happens({ type: 'AccountDeleted', data: { emailHash: data['emailHash'], nodes: [] } })
    default:
      throw new Error(`nobody answers ${ask.command.type}`)
  }
}

beforeEach(async () => {
  claims = new Map()
  market = await stage({ env: { PENSTOCK_LOGIN_PER_MINUTE: '3' } })
  market.answers(service)
  const made = await market.gql(CREATE, { input: owner })
  token = String(at(made, 'account.create.token'))
  accountId = String(at(made, 'account.create.account.id'))
})
afterEach(() => market.close())

const end = (key = token, password = owner.password) => market.gql(DELETE, { input: { password } }, key)
const opens = async (key: string): Promise<boolean> => (await market.gql(ME, {}, key)).errors === undefined
const refusalOf = async (): Promise<string | undefined> => (await end()).errors?.[0]?.message
const commands = (): readonly string[] => market.sent.map(({ ask }) => ask.command.type)
const texts = async () => {
  const db = market.gateway.views.db.$extendTables<{ records: { id: string; kind: string } }>()
  return (await db.selectFrom('records').select('kind').orderBy('kind').execute()).map(({ kind }) => kind)
}

/** An order of a buyer with a text of its own; its seller's account sells it. */
async function orders(buyer: string, seller = stranger, facts: Parameters<Stage['happens']>[2] = []): Promise<void> {
  const terms = orderTermsOf(true)
  const record = { id: ORDER, hash: 'a'.repeat(64) }
  await market.gateway.records.put(ORDER, 'redirect-url', '{"redirect_url":"https://ann.example"}', 1)
  const candidate = { ...terms.candidate, sellerAccountId: seller, sellerPubkey: pubkey }
  await market.happens('order', ORDER, [
    placed({ ...terms, candidate, buyer: { accountId: buyer, key: null }, record }),
    ...facts,
  ])
}
const rejected = { type: 'BuyerRejected', data: { reason: 'It was cancelled.' } }

test('deletes the texts, ends every token and key, and keeps the facts', async () => {
  const key = String(at(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
  await market.happens(account.category, accountId, [
    { type: 'OrderKeyIssued', data: { keyHash: 'c'.repeat(64), orderId: ORDER } },
    { type: 'NodeConnected', data: { pubkey } },
  ])
  await orders(accountId, stranger, [rejected])
  const slot = { order_id: ORDER, ip: '192.0.2.1', destination: pubkey, at: 1 }
  await tablesOf(market.gateway.views).insertInto('gateway_order_slots').values(slot).execute()
  expect(await texts()).toEqual(['api-key-name', 'email', 'password', 'redirect-url'])
  expect(at(await end(), 'account.delete')).toEqual({ id: accountId, success: true })
  expect(await texts()).toEqual([])
  expect([await opens(token), await opens(key)]).toEqual([false, false])
  const db = tablesOf(market.gateway.views)
  expect(await db.selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0).execute()).toEqual([])
  for (const table of ['gateway_sessions', 'gateway_nodes', 'gateway_order_slots', 'gateway_erasures'] as const)
    expect([table, await db.selectFrom(table).selectAll().execute()]).toEqual([table, []])
  expect(at(await market.gql(LOGIN, { input: owner }), 'account.login')).toBeNull()
  for (const secret of [owner.password, owner.email, 'my bot']) expect(JSON.stringify(market.sent)).not.toContain(secret)
})

test('the address can sign up again, as an account of its own', async () => {
  await end()
  const again = await market.gql(CREATE, { input: { ...owner, password: 'another horse battery' } })
  const id = at(again, 'account.create.account.id')
  expect([again.errors, id === accountId]).toEqual([undefined, false])
  expect(claims.get(hashEmail(market.gateway.pepper, owner.email))).toBe(id)
  const input = { email: owner.email, password: owner.password }
  expect(at(await market.gql(LOGIN, { input }), 'account.login')).toBeNull()
})

test('offers leave the market first', async () => {
  const { promises } = orderTermsOf().candidate
  const sizes = { totalSizeSat: '9000000', minSizeSat: '100000', maxSizeSat: '2000000' }
  const terms = { ...sizes, promises, conditions: [], assetId: null, autoAccept: true }
  await market.happens('offer', OFFER, [{ type: 'OfferCreated', data: { ...terms, accountId, pubkey } }])
  await market.happens('offer', ORDER, [{ type: 'OfferCreated', data: { ...terms, accountId: stranger, pubkey } }])
  await end()
  expect(commands().slice(-3)).toEqual(['ToggleOffer', 'DeleteAccount', 'ReleaseEmail'])
  expect(market.sent.at(-3)?.ask.id).toBe(OFFER)
})

describe('is refused', () => {
  /** The account is as it was, and nobody was asked to change it. */
  const untouched = async () => [commands(), await opens(token), (await texts()).includes('email')]
  const AS_BEFORE = [['ClaimEmail'], true, true]
  test('with a wrong password, and too many of them', async () => {
    for (let n = 0; n < 3; n++)
      expect((await end(token, 'wrong horse battery')).errors?.[0]?.message).toBe('The password is wrong.')
    expect((await end(token, 'wrong horse battery')).status).toBe(429)
    expect(await untouched()).toEqual(AS_BEFORE)
  })
  test('while an order is open, for its buyer and for its seller', async () => {
    await orders(accountId)
    expect(await refusalOf()).toMatch(/^An order of this account is open/)
    await market.happens('order', ORDER, [rejected])
    await market.happens('order', OFFER, [
      placed({ ...orderTermsOf(true), candidate: { ...orderTermsOf().candidate, sellerAccountId: accountId } }),
    ])
    expect(await refusalOf()).toMatch(/^An order of this account is open/)
    expect(await untouched()).toEqual(AS_BEFORE)
  })
  const owed = (account_: 'payable' | 'owed-to-buyer') => ({
    type: 'LedgerPosted',
    data: { posting: 'x', entries: [{ account: account_, amountMsat: '-5000' }] },
  })
  const noted = { type: 'OutpointNoted', data: { terms: { sellerPubkey: pubkey } } }
  test('while a payout to its seller is open', async () => {
    await orders(stranger, accountId, [rejected])
    await market.happens('settlement', ORDER, [noted, owed('payable')])
    expect(await refusalOf()).toMatch(/^Money is owed to this account/)
    expect(await untouched()).toEqual(AS_BEFORE)
  })
  test('while money is owed to its buyer', async () => {
    await orders(accountId, stranger, [rejected])
    await market.happens('settlement', ORDER, [noted, owed('owed-to-buyer'), { type: 'PayableClosed', data: { reason: 'x' } }])
    expect(await refusalOf()).toMatch(/^Money is owed to this account/)
    expect(await untouched()).toEqual(AS_BEFORE)
  })
})

test("money that is owed to the other side keeps nobody's account", async () => {
  await orders(accountId, stranger, [rejected])
  await market.happens('settlement', ORDER, [
    { type: 'OutpointNoted', data: { terms: { sellerPubkey: pubkey } } },
    { type: 'LedgerPosted', data: { posting: 'x', entries: [{ account: 'payable', amountMsat: '-5000' }] } },
  ])
  expect(at(await end(), 'account.delete.success')).toBe(true)
})

test('only a person deletes an account', async () => {
  const key = String(at(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
  expect((await end(key)).errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
  expect((await market.gql(DELETE, { input: { password: owner.password } })).errors?.[0]?.extensions['code']).toBe(
    'UNAUTHENTICATED',
  )
})

test('a gateway that dies before the texts are gone leaves them to the next', async () => {
  await orders(accountId, stranger, [rejected])
  const emailHash = hashEmail(market.gateway.pepper, owner.email)
  await market.happens(account.category, accountId, [{ type: 'AccountDeleted', data: { emailHash, nodes: [] } }])
  expect(await texts()).toEqual(['email', 'password', 'redirect-url'])
  await eraseDeleted(market.gateway.views, market.gateway.records)
  expect(await texts()).toEqual([])
  expect(await tablesOf(market.gateway.views).selectFrom('gateway_erasures').selectAll().execute()).toEqual([])
})
