import type { Event } from '@penstock/runtime/service.ts'
import { describe, expect, test } from 'vitest'
import { checkBalance, checkTransactions, listTransactions, type TransactionAnswer } from './payments.ts'

const START = 1_000_000
const WALLET = 'wallet'
const OUTCOME_AT = START + 1000
const EXPIRES_AT = START + 9000
type TestFact = readonly [type: string, data?: object, at?: number]

const request = { walletId: WALLET, amount: '2500', behavior: 'complete', outcomeAt: OUTCOME_AT, paymentHash: 'hash' }
const invoice = { expiresAt: EXPIRES_AT, paymentHash: 'hash' }

/** Creates events of one stream, whose facts have only the fields that the checks read. */
const toEvents = (category: string, aggregateId: string, facts: readonly TestFact[]): readonly Event[] =>
  facts.map(([type, data = {}, at = START]) => ({ category, aggregateId, fact: { type, v: 1, data }, at }) as unknown as Event)
const receive = (id: string, change: object, ...ends: readonly TestFact[]): readonly Event[] =>
  toEvents('receive', id, [['ReceiveRequested', { ...request, ...change }], ['InvoiceIssued', invoice], ...ends])
const send = (id: string, change: object, ...ends: readonly TestFact[]): readonly Event[] => {
  const { paymentHash: _, ...sendRequest } = request
  return toEvents('send', id, [['SendRequested', { ...sendRequest, ...change }], ['InvoiceResolved', invoice], ...ends])
}

const check = (events: readonly Event[], answers: readonly TransactionAnswer[] = [], keys = { receive: 9, send: 9 }) =>
  checkTransactions(listTransactions(events), answers, { keys, workloadMs: 0 })

const received: TestFact = ['ReceiveCompleted', {}, OUTCOME_AT]
const paid: readonly TestFact[] = [['HashClaimed'], ['SendCompleted', {}, OUTCOME_AT]]
const answer: TransactionAnswer = {
  direction: 'receive',
  idempotencyKey: 'key',
  id: 'a',
  payment_request: 'lnbcrt1',
  payment_hash: 'hash',
}

describe('checkTransactions', () => {
  test('accepts transactions that ended as their callers chose', () => {
    const events = [
      ...receive('a', {}, received),
      ...receive('b', { behavior: 'fail' }, ['ReceiveFailed', {}, OUTCOME_AT]),
      ...receive('c', { behavior: 'expire', outcomeAt: null }, ['ReceiveExpiryReached'], ['ReceiveExpired', {}, EXPIRES_AT]),
      // The outcome is due after the expiry, and comes at the expiry.
      ...receive('d', { outcomeAt: EXPIRES_AT + 5000 }, ['ReceiveCompleted', {}, EXPIRES_AT]),
      ...send('e', {}, ...paid),
      ...send('f', {}, ['HashTaken', { ofSendId: 'e' }]),
    ]
    expect(check(events, [answer, answer])).toEqual([])
  })

  test.each([
    ['has not ended', receive('a', {})],
    ['ended 2 times', receive('a', {}, received, received)],
    ['ended as failed, and its caller chose completed', receive('a', {}, ['ReceiveFailed', {}, OUTCOME_AT])],
    ['ended as completed, and its caller chose expired', receive('a', { outcomeAt: null }, ['ReceiveCompleted', {}, EXPIRES_AT])],
    ['ended 9000 ms before its time', receive('a', { outcomeAt: null }, ['ReceiveExpired', {}, START])],
    ['ended 60001 ms after its time', receive('a', {}, ['ReceiveCompleted', {}, OUTCOME_AT + 60_001])],
    ['names b as the send of its payment hash', send('a', {}, ['HashTaken', { ofSendId: 'b' }])],
    ['names a as the send of its payment hash', send('a', {}, ['HashTaken', { ofSendId: 'a' }])],
    ['paid the hash hash a second time', [...send('a', {}, ...paid), ...send('b', {}, ...paid)]],
  ] as const)('reports a transaction that %s', (violation, events) => {
    expect(check(events).join()).toContain(violation)
  })

  test('reports answers to one key with two transactions, or with a transaction that was not recorded', () => {
    const events = [...receive('a', {}, received), ...receive('b', {}, received)]
    expect(check(events, [answer, { ...answer, id: 'b' }])).toHaveLength(1)
    expect(check(events, [answer, { ...answer, payment_request: 'lnbcrt2' }])).toHaveLength(1)
    expect(check(events, [{ ...answer, id: 'c' }])).toHaveLength(1)
    expect(check(events, [{ ...answer, payment_hash: 'other' }])).toHaveLength(1)
    // Another key or another direction may have another transaction.
    expect(check(events, [answer, { ...answer, idempotencyKey: 'other key', id: 'b' }])).toEqual([])
  })

  test('reports more transactions than keys', () => {
    const events = [...receive('a', {}, received), ...receive('b', {}, received)]
    expect(check(events, [], { receive: 1, send: 0 })).toEqual(['1 keys made 2 transactions of direction receive'])
  })
})

test('checkBalance compares the completed transactions of the wallet', () => {
  const transactions = listTransactions([
    ...receive('a', {}, received),
    ...receive('b', { amount: '700' }, ['ReceiveFailed']),
    ...receive('c', { walletId: 'other wallet' }, received),
    ...send('d', { amount: '3000' }, ...paid),
  ])
  const balance = { balance: '-500', received: '2500', sent: '3000' }
  expect(checkBalance(transactions, WALLET, balance)).toEqual([])
  for (const field of ['balance', 'received', 'sent'])
    expect(checkBalance(transactions, WALLET, { ...balance, [field]: '1' })).toHaveLength(1)
})
