import assert from 'node:assert/strict'
import { accept, type Decider, refuse, type Refusal } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { test } from 'vitest'
import { given } from './given.ts'

/** Says to every command what the test wants it to say. */
const says = (...facts: readonly Fact[]): Decider<number, Command, Fact> => ({
  initial: 0,
  evolve: (count) => count + 1,
  decide: () => accept(...facts),
})
const orderId = '10000000-0000-4000-8000-000000000001'
const fact = (type: string, data: object, v = 1): Fact => ({ type, v, data })
const claimed = fact('PayhashClaimed', { orderId })
const posted = (amountMsat: unknown): Fact =>
  fact('LedgerPosted', {
    posting: 'received',
    entries: [
      { account: 'received', amountMsat },
      { account: 'payable', amountMsat: '-1' },
    ],
  })
const claim = { type: 'ClaimPayhash', data: { orderId } }

test('facts of the contract that knows the command pass', () => {
  given(says(claimed), claimed).when(claim).then(claimed)
  given(says(posted('1')))
    .when({ type: 'Guard', data: {} })
    .then(posted('1'))
})

test.each([
  ['another contract’s', fact('HoldIssued', {}), /payhash has no fact HoldIssued/],
  ['a key less', fact('PayhashClaimed', {}), /PayhashClaimed orderId: /],
  ['a key more', fact('PayhashClaimed', { orderId, at: 1 }), /PayhashClaimed : Unrecognized key: "at"/],
  ['no UUID', fact('PayhashClaimed', { orderId: 'o1' }), /PayhashClaimed orderId: Invalid UUID/],
  ['another version', fact('PayhashClaimed', { orderId }, 2), /PayhashClaimed v2 is written, the contract has v1/],
  ['what JSON leaves out', fact('PayhashClaimed', { orderId, at: undefined }), /not the same once it was written as JSON/],
])('a fact that no store could hold fails, given or decided: %s', (_what, wrong, words) => {
  assert.throws(() => given(says(wrong)).when(claim), words)
  assert.throws(() => given(says(), wrong).when(claim), words)
})

test('a bigint is no JSON', () => {
  assert.throws(() => given(says(posted(1n))).when({ type: 'Guard', data: {} }), /not the same once it was written as JSON/)
})

test('a refusal is checked for what it was given', () => {
  const refuses: Decider<number, Command, Fact, Refusal<'TAKEN'>> = { ...says(), decide: () => refuse('TAKEN', 'It is taken.') }
  given(refuses, claimed).when(claim).refuses('TAKEN')
  assert.throws(() => given(refuses, fact('PayhashClaimed', {})).when(claim), /PayhashClaimed orderId/)
})

test('a decider without a contract may say what it likes', () => {
  const rented = fact('LockerRented', { sizes: undefined })
  given(says(rented), rented).when({ type: 'RentLocker', data: {} }).then(rented)
})
