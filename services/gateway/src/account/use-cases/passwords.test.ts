import { accountContract, emailClaimContract } from '@penstock/contracts/accounts.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { hashCredential } from '@penstock/credentials/credentials.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CommandResponder, readPath, type GatewayHarness, openGatewayHarness, NOW } from '../../gateway-harness.fixture.ts'
import { pruneSessions } from '../views/sessions.ts'
import { withMarketTables } from '../../market/views/tables.ts'

const CREATE = 'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const KEY = 'mutation { account { create_api_key(input: { name: "bot" }) { key } } }'
const CHANGE = 'mutation C($input: ChangePasswordInput!) { account { change_password(input: $input) { success } } }'
const EVERYWHERE = 'mutation E($keys: Boolean) { account { log_out_everywhere(end_api_keys: $keys) { success } } }'
const ME = '{ account { me { id } } }'
const owner = { email: 'ann@example.org', password: 'correct horse battery' }
const NEXT = 'another horse battery'

let market: GatewayHarness
let token: string

/** Simulates the accounts service. */
const service: CommandResponder = async (ask, options) => {
  const data = ask.command.data as Record<string, unknown>
  const project = (...facts: Parameters<GatewayHarness['projectFacts']>[2]) =>
    market.projectFacts(accountContract.category, ask.id, facts, options.commandId)
  switch (ask.command.type) {
    case 'ClaimEmail': {
      const { tokenHash, tokenExpiresAt: expiresAt, accountId, ...rest } = data
      await market.projectFacts(emailClaimContract.category, ask.id, [{ type: 'EmailClaimed', data }], options.commandId)
      return market.projectFacts(accountContract.category, String(accountId), [
        { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
        { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
      ])
    }
    case 'RecordLogin':
      return project({ type: 'LoginRecorded', data: { tokenHash: data['tokenHash'], expiresAt: data['expiresAt'] } })
    case 'CreateApiKey':
      return project({ type: 'ApiKeyCreated', data })
    case 'ChangePassword':
      return project(
        { type: 'PasswordChanged', data: { passwordRecord: data['passwordRecord'] } },
        { type: 'LoggedOutEverywhere', data: { apiKeys: data['apiKeys'] } },
      )
    default:
      return project({ type: 'LoggedOutEverywhere', data })
  }
}

beforeEach(async () => {
  market = await openGatewayHarness({ env: { PENSTOCK_LOGIN_PER_MINUTE: '3', PENSTOCK_TRUST_PROXY: '1' } })
  market.respondWith(service)
  token = String(readPath(await market.gql(CREATE, { input: owner }), 'account.create.token'))
})
afterEach(() => market.close())

const logIn = async (password: string): Promise<unknown> =>
  readPath(await market.gql(LOGIN, { input: { email: owner.email, password } }), 'account.login.token')
const apiKey = async (): Promise<string> => String(readPath(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
const change = (input: object, key = token) =>
  market.gql(CHANGE, { input: { password: owner.password, new_password: NEXT, ...input } }, key)
const hasAccess = async (key: string): Promise<boolean> => (await market.gql(ME, {}, key)).errors === undefined

/** Returns the record ids of the last command, which must be ChangePassword. */
function lastChange(): { readonly replaces: string; readonly passwordRecord: string } {
  const last = market.sent.at(-1)
  if (last?.ask.command.type !== 'ChangePassword') throw new Error('the last command is not ChangePassword')
  return last.ask.command.data as { replaces: string; passwordRecord: string } // as the gateway sends it
}

test('a password change revokes every token and the old password, but no API key', async () => {
  const [other, key] = [String(await logIn(owner.password)), await apiKey()]
  expect(readPath(await change({}), 'account.change_password.success')).toBe(true)
  expect([await hasAccess(token), await hasAccess(other), await hasAccess(key)]).toEqual([false, false, true])
  expect(await logIn(owner.password)).toBeUndefined()
  expect(await hasAccess(String(await logIn(NEXT)))).toBe(true)
})

test('a password change with end_api_keys revokes the API keys', async () => {
  const key = await apiKey()
  await change({ end_api_keys: true })
  expect(await hasAccess(key)).toBe(false)
})

test('no record contains the hash of the old password, and no command contains a password', async () => {
  await change({})
  const command = lastChange()
  expect(await market.gateway.records.get(command.replaces)).toBeUndefined()
  expect(await market.gateway.records.get(command.passwordRecord)).toBeDefined()
  for (const secret of [owner.password, NEXT, '$argon2id']) expect(JSON.stringify(market.sent)).not.toContain(secret)
})

test('a refused password change keeps the old password', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'PASSWORD_CHANGED', message: 'It was changed.' }),
  )
  const { errors } = await change({})
  expect(errors?.[0]?.message).toBe('It was changed.')
  const { replaces, passwordRecord } = lastChange()
  expect(await market.gateway.records.get(passwordRecord)).toBeUndefined()
  expect(await market.gateway.records.get(replaces)).toBeDefined()
})

test('a stolen token cannot try more passwords than the limit', async () => {
  const guess = { password: 'wrong horse battery' }
  for (let n = 0; n < 3; n++) expect((await change(guess)).errors?.[0]?.message).toBe('The password is wrong.')
  expect((await change(guess)).status).toBe(429)
  expect(market.sent.filter(({ ask }) => ask.command.type === 'ChangePassword')).toEqual([])
})

test('a log-in with a password that was changed meanwhile is refused like a wrong password', async () => {
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'PASSWORD_CHANGED', message: 'It was changed.' }),
  )
  const { errors } = await market.gql(LOGIN, { input: owner })
  expect(errors?.[0]?.message).toBe('The log-in is not valid.')
})

test('a password change is refused for a short new password, and for a caller with an API key', async () => {
  expect((await change({ new_password: 'short' })).errors?.[0]?.message).toMatch(/at least 12 characters/)
  const key = await apiKey()
  for (const answer of [await change({}, key), await market.gql(EVERYWHERE, {}, key)])
    expect(answer.errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
})

type Session = {
  readonly created_at: string
  readonly last_used_at: string
  readonly ip_prefix: string
  readonly current: boolean
}

const SESSIONS = '{ account { sessions { id created_at last_used_at ip_prefix current } } }'

/** Lists the network of each session's last use, and marks the session of the caller. */
async function sessions(key: string, from: string): Promise<readonly string[]> {
  const list = readPath(await market.gql(SESSIONS, {}, key, from), 'account.sessions') as readonly Session[] // the schema defines this shape
  for (const { created_at, last_used_at } of list) expect(last_used_at >= created_at).toBe(true)
  return list.map(({ ip_prefix, current }) => `${ip_prefix}${current ? ' current' : ''}`).toSorted()
}

test('account.sessions lists the valid tokens with the network of their last use', async () => {
  const otherToken = String(readPath(await market.gql(LOGIN, { input: owner }, undefined, '192.0.2.9'), 'account.login.token'))
  expect(await sessions(otherToken, '198.51.100.1')).toEqual(['127.0.0.0/24', '192.0.2.0/24 current'])
  await letTimePass(otherToken)
  expect(await sessions(otherToken, '198.51.100.1')).toEqual(['127.0.0.0/24', '198.51.100.0/24 current'])
  await market.gql(EVERYWHERE, {}, otherToken)
  token = String(await logIn(owner.password))
  expect(await sessions(token, '127.0.0.1')).toEqual(['127.0.0.0/24 current'])
  await pruneSessions(market.gateway.views, NOW + 2 * MINUTE_MS)
  const remaining = await withMarketTables(market.gateway.views).selectFrom('gateway_sessions').select('hash').execute()
  expect(remaining).toEqual([{ hash: hashCredential(market.gateway.pepper, token) }])
})

/** Sets the session's last use to two minutes ago. */
async function letTimePass(key: string): Promise<void> {
  const hash = hashCredential(market.gateway.pepper, key)
  const before = NOW - 2 * MINUTE_MS
  const row = { created_at: before, last_used_at: before }
  await withMarketTables(market.gateway.views).updateTable('gateway_sessions').set(row).where('hash', '=', hash).execute()
}

test('log_out_everywhere revokes every token, and API keys only if requested', async () => {
  const [other, key] = [String(await logIn(owner.password)), await apiKey()]
  expect(readPath(await market.gql(EVERYWHERE, {}, token), 'account.log_out_everywhere.success')).toBe(true)
  expect([await hasAccess(token), await hasAccess(other), await hasAccess(key)]).toEqual([false, false, true])
  await market.gql(EVERYWHERE, { keys: true }, String(await logIn(owner.password)))
  expect(await hasAccess(key)).toBe(false)
})
