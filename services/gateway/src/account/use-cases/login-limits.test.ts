import { accountContract, emailClaimContract } from '@penstock/contracts/accounts.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BUYER_URI } from '../../market/fake-market.fixture.ts'
import { type GatewayHarness, openGatewayHarness } from '../../gateway-harness.fixture.ts'

const CREATE = 'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const PUBKEY = BUYER_URI.slice(0, 66)
const owner = { email: 'ann@example.org', password: 'correct horse battery' }
const guess = { email: owner.email, password: 'wrong horse battery' }

let market: GatewayHarness
beforeEach(async () => {
  market = await openGatewayHarness({ env: { PENSTOCK_LOGIN_PER_MINUTE: '2', PENSTOCK_TRUST_PROXY: '1' } })
  market.respondWith(async (ask, options) => {
    const data = ask.command.data as Record<string, unknown>
    const project = (category: string, id: string, type: string, factData: object) =>
      market.projectFacts(category, id, [{ type, data: factData }], options.commandId)
    if (ask.command.type === 'RecordLogin') {
      const { tokenHash, expiresAt } = data
      return project(accountContract.category, ask.id, 'LoginRecorded', { tokenHash, expiresAt })
    }
    const { tokenHash, tokenExpiresAt: expiresAt, accountId, ...rest } = data
    await project(emailClaimContract.category, ask.id, 'EmailClaimed', data)
    await market.projectFacts(accountContract.category, String(accountId), [
      { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
      { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
    ])
  })
  const { errors } = await market.gql(CREATE, { input: owner }, undefined, '192.0.2.1')
  if (errors) throw new Error(`the sign-up failed: ${errors[0]?.message}`)
})
afterEach(() => market.close())

const statusesOf = async (count: number, input: object, from: (n: number) => string): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) statuses.push((await market.gql(LOGIN, { input }, undefined, from(n))).status)
  return statuses
}

test('an IP address with too many failures at an account must wait, but the owner can log in from another address', async () => {
  expect(await statusesOf(3, guess, () => '192.0.2.66')).toEqual([200, 200, 429])
  expect(market.loggedWarnings.at(-1)).toMatchObject({ method: 'password', code: 'limited', ip: '192.0.2.66' })
  const answer = await market.gql(LOGIN, { input: owner }, undefined, '192.0.2.1')
  expect(answer.errors).toBeUndefined()
  const other = { email: 'bob@example.org', password: 'wrong horse battery' }
  expect(await statusesOf(1, other, () => '192.0.2.66')).toEqual([200])
})

test('a successful log-in does not count against the limit', async () => {
  expect(await statusesOf(5, owner, () => '192.0.2.1')).toEqual([200, 200, 200, 200, 200])
  expect(await statusesOf(3, guess, () => '192.0.2.1')).toEqual([200, 200, 429])
})

test('concurrent guesses are counted one by one', async () => {
  const responses = await Promise.all(
    Array.from({ length: 6 }, () => market.gql(LOGIN, { input: guess }, undefined, '192.0.2.66')),
  )
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(2)
})

test('failed log-ins by a node are counted per node and IP address', async () => {
  const input = { pubkey: PUBKEY, challenge: 'c'.repeat(40), signature: 'd'.repeat(104) }
  expect(await statusesOf(3, input, () => '192.0.2.66')).toEqual([200, 200, 429])
  expect(await statusesOf(1, input, () => '192.0.2.1')).toEqual([200])
})

test('the /56 and /48 networks of an IPv6 address have limits too', async () => {
  const networks = (n: number): string => `2001:db8:1:a2${n.toString(16).padStart(2, '0')}::1`
  expect(await statusesOf(9, guess, networks)).toEqual([...Array<number>(8).fill(200), 429])
  const wider = (n: number): string => `2001:db8:1:${(n + 1).toString(16)}00::1`
  expect(await statusesOf(25, guess, wider)).toEqual([...Array<number>(24).fill(200), 429])
  expect(await statusesOf(1, guess, () => '2001:db8:2::1')).toEqual([200])
})

test('failed sign-ups from one address do not block the e-mail address for others', async () => {
  const taken = { input: { email: 'eve@example.org', password: 'short' } }
  for (let n = 0; n < 2; n++) await market.gql(CREATE, taken, undefined, '192.0.2.66')
  const eve = { input: { email: 'eve@example.org', password: 'correct horse battery' } }
  expect((await market.gql(CREATE, eve, undefined, '192.0.2.9')).status).toBe(200)
  expect((await market.gql(CREATE, taken, undefined, '192.0.2.66')).status).toBe(429)
})
