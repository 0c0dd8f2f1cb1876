import { account } from '@penstock/contracts/accounts.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { hashEmail } from '@penstock/runtime/credentials.ts'
import { orderTermsOf } from '@penstock/testkit/order-terms.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BUYER_URI, issued, placed } from '../fake-market.contract.ts'
import { type Answering, at, type Stage, stage } from '../stage.contract.ts'
import { tablesOf } from '../views/tables.ts'
import { eraseDeleted } from './erase.ts'
import type { Wish } from './place-order.ts'

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
    case 'Withdraw':
      return
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
/** A round of the gateway's own loop, some time after now. */
const later = ({ ms } = { ms: 0 }) => {
  const { gateway } = market
  return eraseDeleted({ ...gateway, clock: { ...gateway.clock, now: () => gateway.clock.now() + ms } })
}
const erasures = () => tablesOf(market.gateway.views).selectFrom('gateway_erasures').select('account_id').execute()
const withdrawals = () => market.sent.flatMap(({ ask }) => (ask.command.type === 'Withdraw' ? [ask.id] : []))
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
  for (const table of ['gateway_sessions', 'gateway_nodes', 'gateway_order_slots'] as const)
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
  await later()
  expect(await texts()).toEqual([])
  await later({ ms: DAY_MS + 1000 })
  expect([await erasures(), withdrawals()]).toEqual([[], []])
})

describe('an order in the instant of the deletion', () => {
  /** Whatever the services do with it, this comes first. */
  const before = (type: string, comes: () => Promise<void>) =>
    market.answers(async (ask, options) => {
      if (ask.command.type === type) await comes()
      return service(ask, options)
    })

  test('shows before the deletion, after its check: it is withdrawn, and its text goes', async () => {
    before('DeleteAccount', () => orders(accountId))
    expect(at(await end(), 'account.delete.success')).toBe(true)
    expect([withdrawals(), await texts()]).toEqual([[ORDER], []])
    // The erasure does not end before the order has.
    await later({ ms: 2 * DAY_MS })
    expect(await erasures()).toEqual([{ account_id: accountId }])
    await market.happens('order', ORDER, [rejected])
    await later({ ms: 2 * DAY_MS })
    expect([await erasures(), withdrawals()]).toEqual([[], [ORDER, ORDER]])
  })

  test('shows after the deletion: the next round withdraws it, takes its text, and ends its key', async () => {
    expect(at(await end(), 'account.delete.success')).toBe(true)
    await orders(accountId)
    expect([withdrawals(), await texts()]).toEqual([[], ['redirect-url']])
    await later()
    expect([withdrawals(), await texts()]).toEqual([[ORDER], []])
    const open = tablesOf(market.gateway.views).selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0)
    expect(await open.execute()).toEqual([])
  })

  test('whose payment is held is left to its end', async () => {
    before('DeleteAccount', () =>
      orders(accountId, stranger, [
        issued,
        { type: 'AttemptStarted', data: { attempt: 1, candidate: orderTermsOf().candidate } },
      ]),
    )
    expect(at(await end(), 'account.delete.success')).toBe(true)
    expect([withdrawals(), await texts(), await erasures()]).toEqual([[], [], [{ account_id: accountId }]])
  })

  test('is asked for before the deletion: its buyer gets no invoice, and it is withdrawn', async () => {
    const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
    market.answers(async (ask, options) => {
      if (ask.command.type !== 'RequestQuote') return service(ask, options)
      expect(at(await end(), 'account.delete.success')).toBe(true)
      const { buyer, destination, record } = ask.command.data as Wish // what the gateway sends
      await market.happens('order', ask.id, [placed({ buyer, destination, record }), issued])
    })
    const input = { connection_uri: BUYER_URI, usd_cents: '500', redirect_url: 'https://ann.example' }
    const bought = await market.gql(BUY, { input }, token)
    expect(bought.errors?.[0]?.extensions['reason']).toBe('ACCOUNT_DELETED')
    expect([withdrawals().length, await texts()]).toEqual([1, []])
  })
})
