import { accountContract, emailClaimContract } from '@penstock/contracts/accounts.ts'
import { hashEmail, newCredential } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { hasLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { BUYER_URI } from '../../market/fake-market.fixture.ts'
import {
  type CommandResponder,
  readPath,
  type GatewayHarness,
  openGatewayHarness,
  type FactInput,
  NOW,
} from '../../gateway-harness.fixture.ts'

const CREATE =
  'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token account { id email created_at nodes { pubkey } } } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token account { id email } } } }'
const KEY =
  'mutation K($input: CreateApiKeyInput!) { account { create_api_key(input: $input) { key api_key { id name key_prefix key_suffix expires_at active } } } }'
const KEYS = '{ account { api_keys { total_count list { id name active } } } }'
const ME = '{ account { me { id email nodes { pubkey } } } }'
const CHALLENGE = 'mutation C($pubkey: String!) { account { node { challenge(pubkey: $pubkey) } } }'
const CONNECT = 'mutation C($input: ConnectNodeInput!) { account { node { connect(input: $input) { success } } } }'
const someone = { email: 'Ann@Example.org', password: 'correct horse battery' }
const PUBKEY = BUYER_URI.slice(0, 66)

let market: GatewayHarness
/** Simulates the accounts service: the first claim of an e-mail address succeeds, and every other command is accepted. */
const service = (nodes: 'connected' | 'refused' = 'connected'): CommandResponder => {
  const claimed = new Set<string>()
  return async (ask, options) => {
    const { type } = ask.command
    const data = ask.command.data as Record<string, unknown>
    const project = (id: string, ...facts: FactInput[]) =>
      market.projectFacts(accountContract.category, id, facts, options.commandId)
    if (type === 'ClaimEmail') {
      if (claimed.has(ask.id)) return market.projectOutcome(ask, options, { code: 'ACCOUNT_REFUSED', message: 'accepted' })
      claimed.add(ask.id)
      await market.projectFacts(emailClaimContract.category, ask.id, [{ type: 'EmailClaimed', data }], options.commandId)
      const { tokenHash, tokenExpiresAt: expiresAt, accountId, ...rest } = data
      setImmediate(
        () =>
          void market.projectFacts(accountContract.category, String(accountId), [
            { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
            { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
          ]),
      )
    } else if (type === 'RecordLogin') {
      const { tokenHash, expiresAt } = data
      await project(ask.id, { type: 'LoginRecorded', data: { tokenHash, expiresAt } })
    } else if (type === 'LogOut') await project(ask.id, { type: 'LoggedOut', data })
    else if (type === 'CreateApiKey') await project(ask.id, { type: 'ApiKeyCreated', data })
    else if (type === 'RevokeApiKey') await project(ask.id, { type: 'ApiKeyRevoked', data })
    else if (type === 'ChallengeNode') await project(ask.id, { type: 'NodeChallenged', data: { ...data, expiresAt: 1 } })
    else if (type === 'ConnectNode') {
      await project(ask.id, { type: 'NodeProofGiven', data })
      const verdict =
        nodes === 'connected'
          ? { type: 'NodeConnected', data: { pubkey: PUBKEY } }
          : { type: 'NodeRefused', data: { pubkey: PUBKEY, reason: 'Somebody else has it.' } }
      setImmediate(() => void market.projectFacts(accountContract.category, ask.id, [verdict]))
    }
  }
}
beforeEach(async () => {
  market = await openGatewayHarness({ env: { PENSTOCK_LOGIN_PER_MINUTE: '0' } })
  market.respondWith(service())
})
afterEach(() => market.close())

const signUp = async (): Promise<string> => String(readPath(await market.gql(CREATE, { input: someone }), 'account.create.token'))

test('signing up answers with a token that works at once', async () => {
  const answer = await market.gql(CREATE, { input: someone })
  assert.equal(answer.errors, undefined)
  const { token, account: made } = readPath(answer, 'account.create') as {
    token: string
    account: { id: string; email: string; created_at: string }
  }
  assert.equal(made.email, 'Ann@Example.org')
  assert.match(made.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(readPath(await market.gql(ME, {}, token), 'account.me'), { id: made.id, email: 'Ann@Example.org', nodes: [] })
  assert.equal(market.sent[0]?.ask.id, hashEmail(market.gateway.pepper, 'ann@example.org'))
})

test('no command contains a secret or a text of a person', async () => {
  const token = await signUp()
  const key = String(readPath(await market.gql(KEY, { input: { name: 'my bot' } }, token), 'account.create_api_key.key'))
  const sent = JSON.stringify(market.sent)
  for (const secret of [token, key, someone.password, 'Ann@', 'my bot', '$argon2id'])
    assert.ok(!sent.toLowerCase().includes(secret.toLowerCase()), secret)
})

test('the name of a refused API key is not stored', async () => {
  const token = await signUp()
  market.respondWith((ask, options) =>
    market.projectOutcome(ask, options, { code: 'TOO_MANY_KEYS', message: 'There are too many.' }),
  )
  const { errors } = await market.gql(KEY, { input: { name: 'my bot' } }, token)
  assert.equal(errors?.[0]?.message, 'There are too many.')
  const { ask } = market.sent.at(-1) ?? assert.fail()
  const { nameRecord } = ask.command.data as { nameRecord: string } // as the gateway sends it
  assert.match(nameRecord, /^[0-9a-f-]{36}$/)
  assert.equal(await market.gateway.records.get(nameRecord), undefined)
})

test('a taken e-mail address and a weak password get the same error', async () => {
  await signUp()
  const [taken, weak] = await Promise.all([
    market.gql(CREATE, { input: { ...someone, email: 'ANN@example.org ' } }),
    market.gql(CREATE, { input: { email: 'bob@example.org', password: 'short' } }),
  ])
  assert.deepEqual(taken.errors?.[0]?.message, weak.errors?.[0]?.message)
  assert.deepEqual(taken.errors?.[0]?.extensions, weak.errors?.[0]?.extensions)
})

describe('log-in', () => {
  test('with the right password succeeds, whatever the letter case of the e-mail address', async () => {
    await signUp()
    const answer = await market.gql(LOGIN, { input: { email: 'ann@EXAMPLE.org', password: someone.password } })
    const token = String(readPath(answer, 'account.login.token'))
    assert.equal(readPath(await market.gql(ME, {}, token), 'account.me.email'), 'Ann@Example.org')
  })
  test('with a wrong password gets the same error as with an unknown e-mail address', async () => {
    await signUp()
    const messages = await Promise.all(
      [
        { email: someone.email, password: 'wrong horse battery' },
        { email: 'nobody@example.org', password: someone.password },
      ].map(async (input) => (await market.gql(LOGIN, { input })).errors?.[0]),
    )
    assert.equal(messages[0]?.message, messages[1]?.message)
    assert.equal(messages[0]?.message, 'The log-in is not valid.')
  })
  test('failures are logged without the password and the e-mail address', async () => {
    await signUp()
    await market.gql(LOGIN, { input: { email: someone.email, password: 'wrong horse battery' } })
    await market.gql(LOGIN, { input: { pubkey: PUBKEY, challenge: 'c'.repeat(40), signature: 'd'.repeat(104) } })
    assert.deepEqual(market.loggedWarnings, [
      { method: 'password', code: 'wrong', account: hashEmail(market.gateway.pepper, someone.email), ip: '127.0.0.1' },
      { method: 'node', code: 'wrong', account: PUBKEY, ip: '127.0.0.1' },
    ])
  })
  test('tokens are revoked by the log-out', async () => {
    const token = await signUp()
    assert.equal(
      readPath(await market.gql('mutation { account { logout { success } } }', {}, token), 'account.logout.success'),
      true,
    )
    assert.equal((await market.gql(ME, {}, token)).errors?.[0]?.message, 'Unauthorized token')
  })
  test('by a node with a wrong signature gets the same error as by a node without an account', async () => {
    const LOGIN_CHALLENGE = `mutation { account { login_challenge(pubkey: "${PUBKEY}") } }`
    const attempt = async () => {
      const challenge = String(readPath(await market.gql(LOGIN_CHALLENGE), 'account.login_challenge'))
      return (await market.gql(LOGIN, { input: { pubkey: PUBKEY, challenge, signature: 'd'.repeat(104) } })).errors?.[0]
    }
    const unknown = await attempt()
    await market.projectFacts(accountContract.category, '20000000-0000-4000-8000-000000000001', [
      { type: 'NodeConnected', data: { pubkey: PUBKEY } },
    ])
    market.respondWith((ask, options) =>
      market.projectOutcome(ask, options, { code: 'WRONG_SIGNATURE', message: 'The signature is wrong.' }),
    )
    const known = await attempt()
    assert.equal(market.sent.length, 1)
    assert.deepEqual([known?.message, known?.extensions], [unknown?.message, unknown?.extensions])
  })
  test('by a node without an account fails, although its challenge is valid', async () => {
    const answer = await market.gql(`mutation { account { login_challenge(pubkey: "${PUBKEY}") } }`)
    const challenge = String(readPath(answer, 'account.login_challenge'))
    assert.match(challenge, new RegExp(PUBKEY))
    const failed = await market.gql(LOGIN, { input: { pubkey: PUBKEY, challenge, signature: 'd'.repeat(104) } })
    assert.equal(failed.errors?.[0]?.message, 'The log-in is not valid.')
    assert.equal(market.sent.length, 0)
  })
})

test('an API key is shown once, listed by its prefix and suffix, and can be revoked', async () => {
  const token = await signUp()
  const expires = new Date(NOW + 86_400_000).toISOString()
  const made = readPath(
    await market.gql(KEY, { input: { name: ' my bot ', expires_at: expires } }, token),
    'account.create_api_key',
  ) as { key: string; api_key: Record<string, unknown> }
  assert.deepEqual(
    [
      made.api_key['name'],
      made.api_key['expires_at'],
      made.api_key['active'],
      made.api_key['key_prefix'],
      made.api_key['key_suffix'],
    ],
    ['my bot', expires, true, made.key.slice(0, 8), made.key.slice(-4)],
  )
  assert.equal((await market.gql(ME, {}, made.key)).errors, undefined)
  const list = () => market.gql(KEYS, {}, token)
  assert.deepEqual(readPath(await list(), 'account.api_keys'), {
    total_count: 1,
    list: [{ id: made.api_key['id'], name: 'my bot', active: true }],
  })
  const revoke = 'mutation R($id: String!) { account { revoke_api_key(id: $id) { id active } } }'
  assert.equal(readPath(await market.gql(revoke, { id: made.api_key['id'] }, token), 'account.revoke_api_key.active'), false)
  assert.equal((await market.gql(ME, {}, made.key)).errors?.[0]?.message, 'Unauthorized token')
  assert.equal(readPath(await list(), 'account.api_keys.list.0.active'), false)
  assert.equal((await market.gql(revoke, { id: PUBKEY }, token)).errors?.[0]?.message, 'Invalid ID')
  assert.equal((await market.gql(revoke, { id: market.gateway.ids.uuid() }, token)).errors?.[0]?.message, 'API key not found')
})

describe('a node', () => {
  test('has its alias from gossip, and a question for it yields to other work', async () => {
    await market.close()
    const addresses = async () => ({ alias: hasLowPriority() ? 'harbour' : 'of work that does not yield', sockets: [] })
    market = await openGatewayHarness({ addresses })
    market.respondWith(service())
    const token = await signUp()
    await market.gql(CONNECT, { input: { pubkey: PUBKEY, challenge: 'x'.repeat(40), signature: 'd'.repeat(104) } }, token)
    assert.deepEqual(readPath(await market.gql('{ account { me { nodes { pubkey alias } } } }', {}, token), 'account.me.nodes'), [
      { pubkey: PUBKEY, alias: 'harbour' },
    ])
  })
  test('is connected once the service records that the proof succeeded', async () => {
    const token = await signUp()
    const challenge = readPath(await market.gql(CHALLENGE, { pubkey: PUBKEY }, token), 'account.node.challenge')
    assert.equal(typeof challenge, 'string')
    assert.equal(
      readPath(
        await market.gql(CONNECT, { input: { pubkey: PUBKEY, challenge, signature: 'd'.repeat(104) } }, token),
        'account.node.connect.success',
      ),
      true,
    )
    assert.deepEqual(readPath(await market.gql(ME, {}, token), 'account.me.nodes'), [{ pubkey: PUBKEY }])
  })
  test('of another account is refused', async () => {
    market.respondWith(service('refused'))
    const token = await signUp()
    const answer = await market.gql(
      CONNECT,
      { input: { pubkey: PUBKEY, challenge: 'x'.repeat(40), signature: 'd'.repeat(104) } },
      token,
    )
    assert.equal(answer.errors?.[0]?.message, 'Somebody else has it.')
    assert.deepEqual(readPath(await market.gql(ME, {}, token), 'account.me.nodes'), [])
  })
  test('gets no challenge if the session key is unknown', async () => {
    const key = newCredential('psk_', market.gateway.ids)
    assert.equal((await market.gql(CHALLENGE, { pubkey: PUBKEY }, key)).errors?.[0]?.extensions['code'], 'UNAUTHENTICATED')
  })
})

test('dashboard operations have a limit per user', async () => {
  await market.close()
  market = await openGatewayHarness({ env: { PENSTOCK_DASHBOARD_PER_MINUTE: '3' } })
  market.respondWith(service())
  const token = await signUp()
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await market.gql(ME, {}, token)).status)
  assert.deepEqual(statuses, [200, 200, 200, 429])
  assert.equal((await market.gql('{ user { transactions { transaction_list { total_count } } } }', {}, token)).status, 200)
})
