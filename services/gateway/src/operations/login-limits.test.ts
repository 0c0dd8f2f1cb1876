import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BUYER_URI } from '../fake-market.contract.ts'
import { type Stage, stage } from '../stage.contract.ts'

const CREATE = 'mutation A($input: CreateAccountInput!) { account { create(input: $input) { token } } }'
const LOGIN = 'mutation L($input: LoginInput!) { account { login(input: $input) { token } } }'
const PUBKEY = BUYER_URI.slice(0, 66)
const owner = { email: 'ann@example.org', password: 'correct horse battery' }
const guess = { email: owner.email, password: 'wrong horse battery' }

let market: Stage
beforeEach(async () => {
  market = await stage({ env: { PENSTOCK_LOGIN_PER_MINUTE: '2', PENSTOCK_TRUST_PROXY: '1' } })
  market.answers(async (ask, options) => {
    const data = ask.command.data as Record<string, unknown>
    const happens = (category: string, id: string, type: string, told: object) =>
      market.happens(category, id, [{ type, data: told }], options.commandId)
    if (ask.command.type === 'RecordLogin') {
      const { tokenHash, expiresAt } = data
      return happens(account.category, ask.id, 'LoginRecorded', { tokenHash, expiresAt })
    }
    const { tokenHash, tokenExpiresAt: expiresAt, accountId, ...rest } = data
    await happens(emailClaim.category, ask.id, 'EmailClaimed', data)
    await market.happens(account.category, String(accountId), [
      { type: 'AccountCreated', data: { emailHash: ask.id, ...rest } },
      { type: 'LoginRecorded', data: { tokenHash, expiresAt } },
    ])
  })
  const { errors } = await market.gql(CREATE, { input: owner }, undefined, '192.0.2.1')
  if (errors) throw new Error(`there is no account: ${errors[0]?.message}`)
})
afterEach(() => market.close())

const statusesOf = async (count: number, input: object, from: (n: number) => string): Promise<readonly number[]> => {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) statuses.push((await market.gql(LOGIN, { input }, undefined, from(n))).status)
  return statuses
}

test('whoever fails too often at an account waits, and its owner logs in from elsewhere', async () => {
  expect(await statusesOf(3, guess, () => '192.0.2.66')).toEqual([200, 200, 429])
  expect(market.warned.at(-1)).toMatchObject({ method: 'password', code: 'limited', ip: '192.0.2.66' })
  const answer = await market.gql(LOGIN, { input: owner }, undefined, '192.0.2.1')
  expect(answer.errors).toBeUndefined()
  const other = { email: 'bob@example.org', password: 'wrong horse battery' }
  expect(await statusesOf(1, other, () => '192.0.2.66')).toEqual([200])
})

test('a log-in that succeeds does not count', async () => {
  expect(await statusesOf(5, owner, () => '192.0.2.1')).toEqual([200, 200, 200, 200, 200])
  expect(await statusesOf(3, guess, () => '192.0.2.1')).toEqual([200, 200, 429])
})

test('guesses that come together are counted one by one', async () => {
  const together = await Promise.all(
    Array.from({ length: 6 }, () => market.gql(LOGIN, { input: guess }, undefined, '192.0.2.66')),
  )
  expect(together.filter(({ status }) => status === 200)).toHaveLength(2)
})

test('failures with the key of a node are counted by node and address', async () => {
  const input = { pubkey: PUBKEY, challenge: 'c'.repeat(40), signature: 'd'.repeat(104) }
  expect(await statusesOf(3, input, () => '192.0.2.66')).toEqual([200, 200, 429])
  expect(await statusesOf(1, input, () => '192.0.2.1')).toEqual([200])
})

test('other networks of IPv6 in one /56 and /48 have limits too', async () => {
  const networks = (n: number): string => `2001:db8:1:a2${n.toString(16).padStart(2, '0')}::1`
  expect(await statusesOf(9, guess, networks)).toEqual([...Array<number>(8).fill(200), 429])
  const wider = (n: number): string => `2001:db8:1:${(n + 1).toString(16)}00::1`
  expect(await statusesOf(25, guess, wider)).toEqual([...Array<number>(24).fill(200), 429])
  expect(await statusesOf(1, guess, () => '2001:db8:2::1')).toEqual([200])
})

test('nobody keeps an e-mail address from signing up', async () => {
  const taken = { input: { email: 'eve@example.org', password: 'short' } }
  for (let n = 0; n < 2; n++) await market.gql(CREATE, taken, undefined, '192.0.2.66')
  const eve = { input: { email: 'eve@example.org', password: 'correct horse battery' } }
  expect((await market.gql(CREATE, eve, undefined, '192.0.2.9')).status).toBe(200)
  expect((await market.gql(CREATE, taken, undefined, '192.0.2.66')).status).toBe(429)
})
