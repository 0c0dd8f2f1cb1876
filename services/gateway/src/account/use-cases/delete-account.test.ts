import { accountContract } from '@penstock/contracts/accounts.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { hashEmail } from '@penstock/credentials/credentials.ts'
import { createOrderTerms } from '@penstock/testkit/order-terms.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BUYER_URI, fakeHoldIssuedFact, createOrderPlacedFact } from '../../market/fake-market.fixture.ts'
import { type CommandResponder, readPath, type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'
import { withMarketTables } from '../../market/views/tables.ts'
import { eraseDeletedAccounts } from '../erase.ts'
import type { QuoteRequest } from '../../market/purchase/place-order.ts'

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

let market: GatewayHarness
let token: string
let accountId: string
/** Account ids by the hash of their e-mail address. */
let claims: Map<string, string>

/** Simulates the services of accounts and offers. */
const service: CommandResponder = async (ask, options) => {
  const data = ask.command.data as Record<string, unknown>
  const project = (...facts: Parameters<GatewayHarness['projectFacts']>[2]) =>
    market.projectFacts(ask.category, ask.id, facts, options.commandId)
  switch (ask.command.type) {
    case 'ClaimEmail': {
      if (claims.has(ask.id)) return market.projectOutcome(ask, options, { code: 'ACCOUNT_REFUSED', message: 'accepted' })
      const { tokenHash, tokenExpiresAt: expiresAt, accountId: id, ...rest } = data
      claims.set(ask.id, String(id))
      await project({ type: 'EmailClaimed', data })
      return market.projectFacts(accountContract.category, String(id), [
        { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
        { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
      ])
    }
    case 'ReleaseEmail':
      claims.delete(ask.id)
      return project({ type: 'EmailReleased', data })
    case 'CreateApiKey':
      return project({ type: 'ApiKeyCreated', data })
    case 'ToggleOffer':
      return project({ type: 'OfferDisabled', data: {} })
    case 'DeleteAccount':
      return project({ type: 'AccountDeleted', data: { emailHash: data['emailHash'], nodes: [] } })
    case 'DeleteEnvironment':
      return project({ type: 'EnvironmentDeleted', data: {} })
    case 'Withdraw':
      return
    default:
      throw new Error(`no answer for ${ask.command.type}`)
  }
}

beforeEach(async () => {
  claims = new Map()
  market = await openGatewayHarness({ env: { PENSTOCK_LOGIN_PER_MINUTE: '3' } })
  market.respondWith(service)
  const made = await market.gql(CREATE, { input: owner })
  token = String(readPath(made, 'account.create.token'))
  accountId = String(readPath(made, 'account.create.account.id'))
})
afterEach(() => market.close())

const sendDelete = (key = token, password = owner.password) => market.gql(DELETE, { input: { password } }, key)
const hasAccess = async (key: string): Promise<boolean> => (await market.gql(ME, {}, key)).errors === undefined
const refusalOf = async (): Promise<string | undefined> => (await sendDelete()).errors?.[0]?.message
const listCommands = (): readonly string[] => market.sent.map(({ ask }) => ask.command.type)
const listTextKinds = async () => {
  const db = market.gateway.views.db.$extendTables<{ records: { id: string; kind: string } }>()
  return (await db.selectFrom('records').select('kind').orderBy('kind').execute()).map(({ kind }) => kind)
}

/** Projects an order that a buyer's account buys with a stored text, and that a seller's account sells. */
async function projectOrder(
  buyer: string,
  seller = stranger,
  facts: Parameters<GatewayHarness['projectFacts']>[2] = [],
): Promise<void> {
  const terms = createOrderTerms(true)
  const record = { id: ORDER, hash: 'a'.repeat(64) }
  await market.gateway.records.put(ORDER, 'redirect-url', '{"redirect_url":"https://ann.example"}', 1)
  const candidate = { ...terms.candidate, sellerAccountId: seller, sellerPubkey: pubkey }
  await market.projectFacts('order', ORDER, [
    createOrderPlacedFact({ ...terms, candidate, buyer: { accountId: buyer, key: null }, record }),
    ...facts,
  ])
}
/** Runs one round of the gateway's erasure loop, `ms` after now. */
const runErasure = ({ ms } = { ms: 0 }) => {
  const { gateway } = market
  return eraseDeletedAccounts({ ...gateway, clock: { ...gateway.clock, now: () => gateway.clock.now() + ms } })
}
const erasures = () => withMarketTables(market.gateway.views).selectFrom('gateway_erasures').select('account_id').execute()
const withdrawals = () => market.sent.flatMap(({ ask }) => (ask.command.type === 'Withdraw' ? [ask.id] : []))
const rejected = { type: 'BuyerRejected', data: { reason: 'It was cancelled.' } }

test('account.delete deletes the texts, revokes every token and key, and keeps the facts', async () => {
  const key = String(readPath(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
  await market.projectFacts(accountContract.category, accountId, [
    { type: 'OrderKeyIssued', data: { keyHash: 'c'.repeat(64), orderId: ORDER } },
    { type: 'NodeConnected', data: { pubkey } },
  ])
  await projectOrder(accountId, stranger, [rejected])
  const slot = { order_id: ORDER, ip: '192.0.2.1', destination: pubkey, at: 1 }
  await withMarketTables(market.gateway.views).insertInto('gateway_order_slots').values(slot).execute()
  expect(await listTextKinds()).toEqual(['api-key-name', 'email', 'password', 'redirect-url'])
  expect(readPath(await sendDelete(), 'account.delete')).toEqual({ id: accountId, success: true })
  expect(await listTextKinds()).toEqual([])
  expect([await hasAccess(token), await hasAccess(key)]).toEqual([false, false])
  const db = withMarketTables(market.gateway.views)
  expect(await db.selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0).execute()).toEqual([])
  for (const table of ['gateway_sessions', 'gateway_nodes', 'gateway_order_slots'] as const)
    expect([table, await db.selectFrom(table).selectAll().execute()]).toEqual([table, []])
  expect(readPath(await market.gql(LOGIN, { input: owner }), 'account.login')).toBeNull()
  for (const secret of [owner.password, owner.email, 'my bot']) expect(JSON.stringify(market.sent)).not.toContain(secret)
})

test('a deleted e-mail address can sign up again, as a new account', async () => {
  await sendDelete()
  const again = await market.gql(CREATE, { input: { ...owner, password: 'another horse battery' } })
  const id = readPath(again, 'account.create.account.id')
  expect([again.errors, id === accountId]).toEqual([undefined, false])
  expect(claims.get(hashEmail(market.gateway.pepper, owner.email))).toBe(id)
  const input = { email: owner.email, password: owner.password }
  expect(readPath(await market.gql(LOGIN, { input }), 'account.login')).toBeNull()
})

test('the offers are disabled before the account is deleted', async () => {
  const { promises } = createOrderTerms().candidate
  const sizes = { totalSizeSat: '9000000', minSizeSat: '100000', maxSizeSat: '2000000' }
  const terms = { ...sizes, promises, conditions: [], assetId: null, autoAccept: true }
  await market.projectFacts('offer', OFFER, [{ type: 'OfferCreated', data: { ...terms, accountId, pubkey } }])
  await market.projectFacts('offer', ORDER, [{ type: 'OfferCreated', data: { ...terms, accountId: stranger, pubkey } }])
  await sendDelete()
  expect(listCommands().slice(-3)).toEqual(['ToggleOffer', 'DeleteAccount', 'ReleaseEmail'])
  expect(market.sent.at(-3)?.ask.id).toBe(OFFER)
})

describe('account.delete is refused', () => {
  /** Reads the sent commands, and whether the account's token and e-mail address still exist. */
  const readState = async () => [listCommands(), await hasAccess(token), (await listTextKinds()).includes('email')]
  const AS_BEFORE = [['ClaimEmail'], true, true]
  test('with a wrong password, and after too many wrong passwords', async () => {
    for (let n = 0; n < 3; n++)
      expect((await sendDelete(token, 'wrong horse battery')).errors?.[0]?.message).toBe('The password is wrong.')
    expect((await sendDelete(token, 'wrong horse battery')).status).toBe(429)
    expect(await readState()).toEqual(AS_BEFORE)
  })
  test('while an order is open, for its buyer and for its seller', async () => {
    await projectOrder(accountId)
    expect(await refusalOf()).toMatch(/^An order of this account is open/)
    await market.projectFacts('order', ORDER, [rejected])
    await market.projectFacts('order', OFFER, [
      createOrderPlacedFact({
        ...createOrderTerms(true),
        candidate: { ...createOrderTerms().candidate, sellerAccountId: accountId },
      }),
    ])
    expect(await refusalOf()).toMatch(/^An order of this account is open/)
    expect(await readState()).toEqual(AS_BEFORE)
  })
  const owed = (account_: 'payable' | 'owed-to-buyer') => ({
    type: 'LedgerPosted',
    data: { posting: 'x', entries: [{ account: account_, amountMsat: '-5000' }] },
  })
  const registered = { type: 'OutpointRegistered', data: { terms: { sellerPubkey: pubkey } } }
  test('while a payout to its seller is open', async () => {
    await projectOrder(stranger, accountId, [rejected])
    await market.projectFacts('settlement', ORDER, [registered, owed('payable')])
    expect(await refusalOf()).toMatch(/^Money is owed to this account/)
    expect(await readState()).toEqual(AS_BEFORE)
  })
  test('while it is undecided whether the operator owes its seller a lost payment', async () => {
    await projectOrder(stranger, accountId, [rejected])
    const search = { type: 'LossSearchStarted', data: { cause: 'node-gave-back', untilHeight: 2000 } }
    await market.projectFacts('settlement', ORDER, [registered, search])
    expect(await refusalOf()).toMatch(/^It is not decided yet/)
    await market.projectFacts('settlement', ORDER, [{ type: 'LossRefuted', data: { height: 2000, reason: 'x', by: null } }])
    expect(await refusalOf()).toBeUndefined()
  })
  test('while money is owed to its buyer', async () => {
    await projectOrder(accountId, stranger, [rejected])
    await market.projectFacts('settlement', ORDER, [
      registered,
      owed('owed-to-buyer'),
      { type: 'PayableClosed', data: { reason: 'x' } },
    ])
    expect(await refusalOf()).toMatch(/^Money is owed to this account/)
    expect(await readState()).toEqual(AS_BEFORE)
  })
})

test("money that is owed to the seller does not prevent the deletion of the buyer's account", async () => {
  await projectOrder(accountId, stranger, [rejected])
  await market.projectFacts('settlement', ORDER, [
    { type: 'OutpointRegistered', data: { terms: { sellerPubkey: pubkey } } },
    { type: 'LedgerPosted', data: { posting: 'x', entries: [{ account: 'payable', amountMsat: '-5000' }] } },
  ])
  expect(readPath(await sendDelete(), 'account.delete.success')).toBe(true)
})

test('account.delete needs a dashboard token', async () => {
  const key = String(readPath(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
  expect((await sendDelete(key)).errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
  expect((await market.gql(DELETE, { input: { password: owner.password } })).errors?.[0]?.extensions['code']).toBe(
    'UNAUTHENTICATED',
  )
})

test('the erasure loop deletes the texts if a gateway crashed before it deleted them', async () => {
  await projectOrder(accountId, stranger, [rejected])
  const emailHash = hashEmail(market.gateway.pepper, owner.email)
  await market.projectFacts(accountContract.category, accountId, [{ type: 'AccountDeleted', data: { emailHash, nodes: [] } }])
  expect(await listTextKinds()).toEqual(['email', 'password', 'redirect-url'])
  await runErasure()
  expect(await listTextKinds()).toEqual([])
  await runErasure({ ms: DAY_MS + 1000 })
  expect([await erasures(), withdrawals()]).toEqual([[], []])
})

test('the environments of a deleted account are deleted, also one that appears later', async () => {
  const createEnvironment = (id: string) => {
    const data = { teamId: accountId, type: 'SANDBOX', nameRecord: id, firstWalletId: null, keyId: null }
    return market.projectFacts('environment', id, [{ type: 'EnvironmentCreated', data }])
  }
  const deletions = () => market.sent.flatMap(({ ask }) => (ask.command.type === 'DeleteEnvironment' ? [ask.id] : []))
  await createEnvironment(ORDER)
  await sendDelete()
  expect(deletions()).toEqual([ORDER])
  await createEnvironment(OFFER)
  await runErasure({ ms: 2 * DAY_MS })
  expect([deletions(), await erasures()]).toEqual([[ORDER, OFFER], [{ account_id: accountId }]])
  await runErasure({ ms: 2 * DAY_MS })
  expect([deletions(), await erasures()]).toEqual([[ORDER, OFFER], []])
})

describe('an order that is placed during the deletion', () => {
  /** Runs `action` before the services answer a command of this type. */
  const runBefore = (type: string, action: () => Promise<void>) =>
    market.respondWith(async (ask, options) => {
      if (ask.command.type === type) await action()
      return service(ask, options)
    })

  test('is withdrawn and loses its text if it appears between the check and the deletion', async () => {
    runBefore('DeleteAccount', () => projectOrder(accountId))
    expect(readPath(await sendDelete(), 'account.delete.success')).toBe(true)
    expect([withdrawals(), await listTextKinds()]).toEqual([[ORDER], []])
    // The erasure does not end before the order ends.
    await runErasure({ ms: 2 * DAY_MS })
    expect(await erasures()).toEqual([{ account_id: accountId }])
    await market.projectFacts('order', ORDER, [rejected])
    await runErasure({ ms: 2 * DAY_MS })
    expect([await erasures(), withdrawals()]).toEqual([[], [ORDER, ORDER]])
  })

  test('is withdrawn and loses its text and key in the next round if it appears after the deletion', async () => {
    expect(readPath(await sendDelete(), 'account.delete.success')).toBe(true)
    await projectOrder(accountId)
    expect([withdrawals(), await listTextKinds()]).toEqual([[], ['redirect-url']])
    await runErasure()
    expect([withdrawals(), await listTextKinds()]).toEqual([[ORDER], []])
    const open = withMarketTables(market.gateway.views).selectFrom('gateway_credentials').select('hash').where('revoked', '=', 0)
    expect(await open.execute()).toEqual([])
  })

  test('is not withdrawn if its payment is held', async () => {
    runBefore('DeleteAccount', () =>
      projectOrder(accountId, stranger, [
        fakeHoldIssuedFact,
        { type: 'AttemptStarted', data: { attempt: 1, candidate: createOrderTerms().candidate } },
      ]),
    )
    expect(readPath(await sendDelete(), 'account.delete.success')).toBe(true)
    expect([withdrawals(), await listTextKinds(), await erasures()]).toEqual([[], [], [{ account_id: accountId }]])
  })

  test('is withdrawn without an invoice for its buyer if it was requested before the deletion', async () => {
    const BUY = 'mutation B($input: LiquidityOrderInput!) { liquidity { buy(input: $input) { id } } }'
    market.respondWith(async (ask, options) => {
      if (ask.command.type !== 'RequestQuote') return service(ask, options)
      expect(readPath(await sendDelete(), 'account.delete.success')).toBe(true)
      const { buyer, destination, record } = ask.command.data as QuoteRequest // what the gateway sends
      await market.projectFacts('order', ask.id, [createOrderPlacedFact({ buyer, destination, record }), fakeHoldIssuedFact])
    })
    const input = { connection_uri: BUYER_URI, usd_cents: '500', redirect_url: 'https://ann.example' }
    const bought = await market.gql(BUY, { input }, token)
    expect(bought.errors?.[0]?.extensions['reason']).toBe('ACCOUNT_DELETED')
    expect([withdrawals().length, await listTextKinds()]).toEqual([1, []])
  })
})
