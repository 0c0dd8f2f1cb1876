import { recover, sign } from '@penstock/bitcoin/message-signature.ts'
import { account, emailClaim } from '@penstock/contracts/accounts.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { ask, type Event } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { accounts } from './service.ts'

async function world() {
  const { platform, store, caller } = await memoryWorld()
  const running = await run([bind(accounts, {})], platform)
  onTestFinished(() => running.close())
  const { send, outcomes } = await caller('accounts')
  const facts = async (stream: string) => (await store.read(stream)).map(({ type }) => type)
  return {
    send,
    facts,
    shows: (stream: string, type: string) => until(`${type} in ${stream}`, async () => (await facts(stream)).includes(type)),
    refusal: (commandId: string) =>
      until(`an outcome of ${commandId}`, () => outcomes.find((outcome) => outcome.commandId === commandId)?.refused),
    /** What the gateway does for account.create. */
    create: async (emailHash: string) => {
      const [accountId, commandId] = [randomUUID(), randomUUID()]
      const passwordRecord = randomUUID()
      const data = {
        accountId,
        emailRecord: randomUUID(),
        passwordRecord,
        tokenHash: '1'.repeat(64),
        tokenExpiresAt: Date.now() + 60_000,
      }
      await send(ask(emailClaim, emailHash, 'ClaimEmail', data), commandId)
      return { accountId, commandId, passwordRecord }
    },
  }
}

test('an address opens one account, logged in at once; the second claim is refused', async () => {
  const { create, facts, shows, refusal } = await world()
  const first = await create('e'.repeat(64))
  await shows(`account-${first.accountId}`, 'LoginRecorded')
  expect(await facts(`account-${first.accountId}`)).toEqual(['AccountCreated', 'LoginRecorded'])
  const second = await create('e'.repeat(64))
  expect(await refusal(second.commandId)).toMatchObject({ code: 'ACCOUNT_REFUSED' })
  expect(await facts(`account-${second.accountId}`)).toEqual([])
})

test('a node is connected to the account that proves it first', async () => {
  const { create, send, shows, refusal } = await world()
  const secret = new Uint8Array(32).fill(9)
  const pubkey = recover('any text', sign(secret, 'any text')) ?? ''
  const connect = async (emailHash: string, nonce: string) => {
    const { accountId } = await create(emailHash)
    await shows(`account-${accountId}`, 'AccountCreated')
    const challenge = `penstock node challenge 1 ${pubkey} ${nonce}`
    await send(ask(account, accountId, 'ChallengeNode', { pubkey, challenge }), randomUUID())
    const wrong = randomUUID()
    await send(ask(account, accountId, 'ConnectNode', { pubkey, challenge, signature: 'd'.repeat(104) }), wrong)
    expect(await refusal(wrong)).toMatchObject({ code: 'SIGNATURE_WRONG' })
    await send(ask(account, accountId, 'ConnectNode', { pubkey, challenge, signature: sign(secret, challenge) }), randomUUID())
    return `account-${accountId}`
  }
  await shows(await connect('1'.repeat(64), '01'), 'NodeConnected')
  await shows(await connect('2'.repeat(64), '02'), 'NodeRefused')
})

test('a deleted account leaves its address and its node to others', async () => {
  const { create, send, shows, facts } = await world()
  const emailHash = 'e'.repeat(64)
  const secret = new Uint8Array(32).fill(9)
  const pubkey = recover('any text', sign(secret, 'any text')) ?? ''
  const connected = async (accountId: string, nonce: string) => {
    const challenge = `penstock node challenge 1 ${pubkey} ${nonce}`
    await send(ask(account, accountId, 'ChallengeNode', { pubkey, challenge }), randomUUID())
    await send(ask(account, accountId, 'ConnectNode', { pubkey, challenge, signature: sign(secret, challenge) }), randomUUID())
    await shows(`account-${accountId}`, 'NodeConnected')
  }
  const first = await create(emailHash)
  await shows(`account-${first.accountId}`, 'LoginRecorded')
  await connected(first.accountId, '01')
  const { accountId, passwordRecord } = first
  await send(ask(account, accountId, 'DeleteAccount', { emailHash, passwordRecord }), randomUUID())
  await shows(`email-${emailHash}`, 'EmailReleased')
  await shows(`nodeclaim-${pubkey}`, 'NodeReleased')
  const second = await create(emailHash)
  await shows(`account-${second.accountId}`, 'LoginRecorded')
  await connected(second.accountId, '02')
  expect((await facts(`account-${accountId}`)).at(-1)).toBe('AccountDeleted')
})

test('an order opens its session, or issues its key', () => {
  const reaction = accounts.reactions.find(({ type }) => type === 'OrderPlaced')
  const asks = (key: object | null) =>
    reaction?.react({
      aggregateId: 'the-order',
      fact: { type: 'OrderPlaced', v: 1, data: { buyer: { accountId: 'the-buyer', key } } },
    } as unknown as Event) // as much of it as the reaction reads
  const data = { keyHash: 'h', orderId: 'the-order' }
  expect(asks({ kind: 'session', hash: 'h' })).toEqual([
    { category: 'account', id: 'the-buyer', command: { type: 'OpenSession', data } },
  ])
  expect(asks({ kind: 'order', hash: 'h' })).toEqual([
    { category: 'account', id: 'the-buyer', command: { type: 'IssueOrderKey', data } },
  ])
  expect(asks(null)).toEqual([])
})
