import assert from 'node:assert/strict'
import { accept, type Decider, refuse, type Refusal } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import { test } from 'vitest'
import { given } from './given.ts'

/** A decider that answers every command with the given facts. */
const stub = (...facts: readonly Fact[]): Decider<number, Command, Fact> => ({
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

test('facts of the contract that defines the command pass', () => {
  given(stub(claimed), claimed).when(claim).then(claimed)
  given(stub(posted('1')))
    .when({ type: 'Guard', data: {} })
    .then(posted('1'))
})

test.each([
  ['a fact of another contract', fact('HoldIssued', {}), /payhash has no fact HoldIssued/],
  ['a missing key', fact('PayhashClaimed', {}), /PayhashClaimed orderId: /],
  ['an unknown key', fact('PayhashClaimed', { orderId, at: 1 }), /PayhashClaimed : Unrecognized key: "at"/],
  ['an invalid UUID', fact('PayhashClaimed', { orderId: 'o1' }), /PayhashClaimed orderId: Invalid UUID/],
  ['another version', fact('PayhashClaimed', { orderId }, 2), /PayhashClaimed v2 is written, the contract has v1/],
  ['a value that JSON omits', fact('PayhashClaimed', { orderId, at: undefined }), /changes when it is written as JSON/],
])('a given or decided fact that no store could hold fails: %s', (_name, wrong, words) => {
  assert.throws(() => given(stub(wrong)).when(claim), words)
  assert.throws(() => given(stub(), wrong).when(claim), words)
})

test('a fact with a bigint fails', () => {
  assert.throws(() => given(stub(posted(1n))).when({ type: 'Guard', data: {} }), /changes when it is written as JSON/)
})

test('the given facts of a refused command are checked, too', () => {
  const refuses: Decider<number, Command, Fact, Refusal<'TAKEN'>> = { ...stub(), decide: () => refuse('TAKEN', 'It is taken.') }
  given(refuses, claimed).when(claim).refuses('TAKEN')
  assert.throws(() => given(refuses, fact('PayhashClaimed', {})).when(claim), /PayhashClaimed orderId/)
})

test('the facts of a decider without a contract are not checked', () => {
  const rented = fact('LockerRented', { sizes: undefined })
  given(stub(rented), rented).when({ type: 'RentLocker', data: {} }).then(rented)
})

test('a decided fact that the contract does not declare for the command fails', () => {
  const refused = fact('PayoutInvoiceRefused', { paymentHash: '0'.repeat(64), reason: 'It is taken.' })
  given(stub(), refused).when({ type: 'Guard', data: {} }).then()
  assert.throws(
    () => given(stub(refused)).when({ type: 'Guard', data: {} }),
    /settlement does not declare that Guard records PayoutInvoiceRefused/,
  )
})
