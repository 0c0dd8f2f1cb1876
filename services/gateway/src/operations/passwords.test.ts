import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { hashCredential } from '@penstock/runtime/credentials.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Answering, at, type Stage, stage } from '../stage.contract.ts'
import { pruneSessions } from '../views/sessions.ts'
import { tablesOf } from '../views/tables.ts'

const CREATE = 'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const KEY = 'mutation { account { create_api_key(input: { name: "bot" }) { key } } }'
const CHANGE = 'mutation C($input: ChangePasswordInput!) { account { change_password(input: $input) { success } } }'
const EVERYWHERE = 'mutation E($keys: Boolean) { account { log_out_everywhere(end_api_keys: $keys) { success } } }'
const ME = '{ account { me { id } } }'
const owner = { email: 'ann@example.org', password: 'correct horse battery' }
const NEXT = 'another horse battery'

let market: Stage
let token: string

/** The accounts service in short. */
const service: Answering = async (ask, options) => {
  const data = ask.command.data as Record<string, unknown>
  const happens = (...facts: Parameters<Stage['happens']>[2]) =>
    market.happens(account.category, ask.id, facts, options.commandId)
  switch (ask.command.type) {
    case 'ClaimEmail': {
      const { tokenHash, tokenExpiresAt: expiresAt, accountId, ...rest } = data
      await market.happens(emailClaim.category, ask.id, [{ type: 'EmailClaimed', data }], options.commandId)
      return market.happens(account.category, String(accountId), [
        { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
        { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
      ])
    }
    case 'RecordLogin':
      return happens({ type: 'LoginRecorded', data: { tokenHash: data['tokenHash'], expiresAt: data['expiresAt'] } })
    case 'CreateApiKey':
      return happens({ type: 'ApiKeyCreated', data })
    case 'ChangePassword':
      return happens(
        { type: 'PasswordChanged', data: { passwordRecord: data['passwordRecord'] } },
        { type: 'LoggedOutEverywhere', data: { apiKeys: data['apiKeys'] } },
      )
    default:
      return happens({ type: 'LoggedOutEverywhere', data })
  }
}

beforeEach(async () => {
  market = await stage({ env: { PENSTOCK_LOGIN_PER_MINUTE: '3', PENSTOCK_TRUST_PROXY: '1' } })
  market.answers(service)
  token = String(at(await market.gql(CREATE, { input: owner }), 'account.create.token'))
})
afterEach(() => market.close())

const logIn = async (password: string): Promise<unknown> =>
  at(await market.gql(LOGIN, { input: { email: owner.email, password } }), 'account.login.token')
const apiKey = async (): Promise<string> => String(at(await market.gql(KEY, {}, token), 'account.create_api_key.key'))
const change = (input: object, key = token) =>
  market.gql(CHANGE, { input: { password: owner.password, new_password: NEXT, ...input } }, key)
const opens = async (key: string): Promise<boolean> => (await market.gql(ME, {}, key)).errors === undefined

/** The records of the last command. */
function lastChange(): { readonly replaces: string; readonly passwordRecord: string } {
  const last = market.sent.at(-1)
  if (last?.ask.command.type !== 'ChangePassword') throw new Error('no change was sent last')
  return last.ask.command.data as { replaces: string; passwordRecord: string } // as the gateway sends it
}

test('a changed password ends every token and the old password, and leaves API keys', async () => {
  const [other, key] = [String(await logIn(owner.password)), await apiKey()]
  expect(at(await change({}), 'account.change_password.success')).toBe(true)
  expect([await opens(token), await opens(other), await opens(key)]).toEqual([false, false, true])
  expect(await logIn(owner.password)).toBeUndefined()
  expect(await opens(String(await logIn(NEXT)))).toBe(true)
})

test('API keys end too where that is wanted', async () => {
  const key = await apiKey()
  await change({ end_api_keys: true })
  expect(await opens(key)).toBe(false)
})

test('no record keeps the hash of the old password, and no command has a password', async () => {
  await change({})
  const command = lastChange()
  expect(await market.gateway.records.get(command.replaces)).toBeUndefined()
  expect(await market.gateway.records.get(command.passwordRecord)).toBeDefined()
  for (const secret of [owner.password, NEXT, '$argon2id']) expect(JSON.stringify(market.sent)).not.toContain(secret)
})

test('a refused change leaves the old password as it is', async () => {
  market.answers((ask, options) => market.outcome(ask, options, { code: 'PASSWORD_CHANGED', message: 'It was changed.' }))
  const { errors } = await change({})
  expect(errors?.[0]?.message).toBe('It was changed.')
  const { replaces, passwordRecord } = lastChange()
  expect(await market.gateway.records.get(passwordRecord)).toBeUndefined()
  expect(await market.gateway.records.get(replaces)).toBeDefined()
})

test('a stolen token cannot try passwords without end', async () => {
  const guess = { password: 'wrong horse battery' }
  for (let n = 0; n < 3; n++) expect((await change(guess)).errors?.[0]?.message).toBe('The password is wrong.')
  expect((await change(guess)).status).toBe(429)
  expect(market.sent.filter(({ ask }) => ask.command.type === 'ChangePassword')).toEqual([])
})

test('a log-in that was compared with a password of before is refused as a wrong one', async () => {
  market.answers((ask, options) => market.outcome(ask, options, { code: 'PASSWORD_CHANGED', message: 'It was changed.' }))
  const { errors } = await market.gql(LOGIN, { input: owner })
  expect(errors?.[0]?.message).toBe('The log-in is not valid.')
})

test('a short new password is refused, and so is every caller but a person', async () => {
  expect((await change({ new_password: 'short' })).errors?.[0]?.message).toMatch(/at least 12 characters/)
  const key = await apiKey()
  for (const refused of [await change({}, key), await market.gql(EVERYWHERE, {}, key)])
    expect(refused.errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
})

type Session = {
  readonly created_at: string
  readonly last_used_at: string
  readonly ip_prefix: string
  readonly current: boolean
}

const SESSIONS = '{ account { sessions { id created_at last_used_at ip_prefix current } } }'

/** Where each session was used last, and whether it is the one that asks. */
async function sessions(key: string, from: string): Promise<readonly string[]> {
  const list = at(await market.gql(SESSIONS, {}, key, from), 'account.sessions') as readonly Session[] // of the schema's shape
  for (const { created_at, last_used_at } of list) expect(last_used_at >= created_at).toBe(true)
  return list.map(({ ip_prefix, current }) => `${ip_prefix}${current ? ' current' : ''}`).toSorted()
}

test('sessions are those that are open, with where they were used last', async () => {
  const elsewhere = String(at(await market.gql(LOGIN, { input: owner }, undefined, '192.0.2.9'), 'account.login.token'))
  expect(await sessions(elsewhere, '198.51.100.1')).toEqual(['127.0.0.0/24', '192.0.2.0/24 current'])
  await letTimePass(elsewhere)
  expect(await sessions(elsewhere, '198.51.100.1')).toEqual(['127.0.0.0/24', '198.51.100.0/24 current'])
  await market.gql(EVERYWHERE, {}, elsewhere)
  token = String(await logIn(owner.password))
  expect(await sessions(token, '127.0.0.1')).toEqual(['127.0.0.0/24 current'])
  await pruneSessions(market.gateway.views, Date.now() + 2 * MINUTE_MS)
  const kept = await tablesOf(market.gateway.views).selectFrom('gateway_sessions').select('hash').execute()
  expect(kept).toEqual([{ hash: hashCredential(market.gateway.pepper, token) }])
})

/** As though the last use were a while ago. */
async function letTimePass(key: string): Promise<void> {
  const hash = hashCredential(market.gateway.pepper, key)
  const before = Date.now() - 2 * MINUTE_MS
  const row = { created_at: before, last_used_at: before }
  await tablesOf(market.gateway.views).updateTable('gateway_sessions').set(row).where('hash', '=', hash).execute()
}

test('logging out everywhere ends every token, and API keys where that is wanted', async () => {
  const [other, key] = [String(await logIn(owner.password)), await apiKey()]
  expect(at(await market.gql(EVERYWHERE, {}, token), 'account.log_out_everywhere.success')).toBe(true)
  expect([await opens(token), await opens(other), await opens(key)]).toEqual([false, false, true])
  await market.gql(EVERYWHERE, { keys: true }, String(await logIn(owner.password)))
  expect(await opens(key)).toBe(false)
})
