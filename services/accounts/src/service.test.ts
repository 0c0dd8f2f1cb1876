import { command } from '@penstock/kernel/process.ts'
import { recoverPubkey, signMessage } from '@penstock/bitcoin/message-signature.ts'
import type { EmailClaimTarget, AccountTarget } from '@penstock/contracts/accounts.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { accountsService } from './service.ts'

async function openFixture() {
  const { platform, store, caller } = await createMemoryPlatform()
  const running = await run([bind(accountsService, {})], platform)
  onTestFinished(() => running.close())
  const { send, outcomes } = await caller('accounts')
  const facts = async (stream: string) => (await store.read(stream)).map(({ type }) => type)
  return {
    send,
    facts,
    waitForFact: (stream: string, type: string) =>
      waitUntil(`${type} in ${stream}`, async () => (await facts(stream)).includes(type)),
    waitForRefusal: (commandId: string) =>
      waitUntil(`an outcome of ${commandId}`, () => outcomes.find((outcome) => outcome.commandId === commandId)?.refused),
    /** Sends ClaimEmail as the gateway does for account.create. */
    create: async (emailHash: string) => {
      const [accountId, commandId] = [randomUUID(), randomUUID()]
      const passwordRecord = randomUUID()
      const data = {
        accountId,
        emailRecord: randomUUID(),
        passwordRecord,
        tokenHash: '1'.repeat(64),
        tokenExpiresAt: platform.clock.now() + 60_000,
      }
      await send(command<EmailClaimTarget>('email', emailHash, { type: 'ClaimEmail', data }), commandId)
      return { accountId, commandId, passwordRecord }
    },
  }
}

test('an address opens one account, logged in at once; the second claim is refused', async () => {
  const { create, facts, waitForFact, waitForRefusal } = await openFixture()
  const first = await create('e'.repeat(64))
  await waitForFact(`account-${first.accountId}`, 'LoginRecorded')
  expect(await facts(`account-${first.accountId}`)).toEqual(['AccountCreated', 'LoginRecorded'])
  const second = await create('e'.repeat(64))
  expect(await waitForRefusal(second.commandId)).toMatchObject({ code: 'ACCOUNT_REFUSED' })
  expect(await facts(`account-${second.accountId}`)).toEqual([])
})

test('a node is connected to the account that proves it first', async () => {
  const { create, send, waitForFact, waitForRefusal } = await openFixture()
  const secret = new Uint8Array(32).fill(9)
  const pubkey = recoverPubkey('any text', signMessage(secret, 'any text')) ?? ''
  const connect = async (emailHash: string, nonce: string) => {
    const { accountId } = await create(emailHash)
    await waitForFact(`account-${accountId}`, 'AccountCreated')
    const challenge = `penstock node challenge 1 ${pubkey} ${nonce}`
    await send(command<AccountTarget>('account', accountId, { type: 'ChallengeNode', data: { pubkey, challenge } }), randomUUID())
    const wrong = randomUUID()
    await send(
      command<AccountTarget>('account', accountId, {
        type: 'ConnectNode',
        data: { pubkey, challenge, signature: 'd'.repeat(104) },
      }),
      wrong,
    )
    expect(await waitForRefusal(wrong)).toMatchObject({ code: 'SIGNATURE_WRONG' })
    await send(
      command<AccountTarget>('account', accountId, {
        type: 'ConnectNode',
        data: { pubkey, challenge, signature: signMessage(secret, challenge) },
      }),
      randomUUID(),
    )
    return `account-${accountId}`
  }
  await waitForFact(await connect('1'.repeat(64), '01'), 'NodeConnected')
  await waitForFact(await connect('2'.repeat(64), '02'), 'NodeRefused')
})

test('the address and the node of a deleted account can be claimed again', async () => {
  const { create, send, waitForFact, facts } = await openFixture()
  const emailHash = 'e'.repeat(64)
  const secret = new Uint8Array(32).fill(9)
  const pubkey = recoverPubkey('any text', signMessage(secret, 'any text')) ?? ''
  const connected = async (accountId: string, nonce: string) => {
    const challenge = `penstock node challenge 1 ${pubkey} ${nonce}`
    await send(command<AccountTarget>('account', accountId, { type: 'ChallengeNode', data: { pubkey, challenge } }), randomUUID())
    await send(
      command<AccountTarget>('account', accountId, {
        type: 'ConnectNode',
        data: { pubkey, challenge, signature: signMessage(secret, challenge) },
      }),
      randomUUID(),
    )
    await waitForFact(`account-${accountId}`, 'NodeConnected')
  }
  const first = await create(emailHash)
  await waitForFact(`account-${first.accountId}`, 'LoginRecorded')
  await connected(first.accountId, '01')
  const { accountId, passwordRecord } = first
  await send(
    command<AccountTarget>('account', accountId, { type: 'DeleteAccount', data: { emailHash, passwordRecord } }),
    randomUUID(),
  )
  await waitForFact(`email-${emailHash}`, 'EmailReleased')
  await waitForFact(`nodeclaim-${pubkey}`, 'NodeReleased')
  const second = await create(emailHash)
  await waitForFact(`account-${second.accountId}`, 'LoginRecorded')
  await connected(second.accountId, '02')
  expect((await facts(`account-${accountId}`)).at(-1)).toBe('AccountDeleted')
})

test('an order opens a session or issues an order key', () => {
  const reactions = accountsService.reactions.filter(({ type }) => type === 'OrderPlaced')
  const commandsFor = (key: object | null) =>
    reactions.flatMap(
      ({ react }) =>
        react({
          aggregateId: 'the-order',
          fact: { type: 'OrderPlaced', v: 1, data: { buyer: { accountId: 'the-buyer', key } } },
        } as unknown as Event), // the event contains only what the reactions read
    )
  const data = { keyHash: 'h', orderId: 'the-order' }
  expect(commandsFor({ kind: 'session', hash: 'h' })).toEqual([
    { category: 'account', id: 'the-buyer', command: { type: 'OpenSession', data } },
  ])
  expect(commandsFor({ kind: 'order', hash: 'h' })).toEqual([
    { category: 'account', id: 'the-buyer', command: { type: 'IssueOrderKey', data } },
  ])
  expect(commandsFor(null)).toEqual([])
})
