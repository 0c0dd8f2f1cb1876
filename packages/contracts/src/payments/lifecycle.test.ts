import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  findTransactionEventType,
  findTransactionStatus,
  firstReceiveFact,
  firstSendFact,
  receiveStatusRules,
  sendStatusRules,
  transactionEventTypes,
  type TransactionFactType,
  transactionStatuses,
} from './lifecycle.ts'
import { receiveContract } from './receive.ts'
import { sendContract } from './send.ts'

type Rules = Readonly<Record<string, { readonly on: Readonly<Record<string, string>> }>>

const lifecycles: readonly (readonly [string, object, Rules])[] = [
  ['receive', receiveContract.facts, { NONE: { on: firstReceiveFact }, ...receiveStatusRules }],
  ['send', sendContract.facts, { NONE: { on: firstSendFact }, ...sendStatusRules }],
]

test.each(lifecycles)('each fact of a %s leads from one status to one other status', (_, facts, rules) => {
  const edges = Object.entries(rules).flatMap(([from, { on }]) => Object.entries(on).map(([type, to]) => ({ from, type, to })))
  assert.deepEqual(edges.map(({ type }) => type).toSorted(), Object.keys(facts).toSorted())
  for (const { from, to } of edges) assert.notEqual(from, to)
})

test('a status is final exactly if callers see an end or no transaction', () => {
  for (const [status, { shownAs, on }] of Object.entries({ ...receiveStatusRules, ...sendStatusRules }))
    assert.equal(Object.keys(on).length === 0, shownAs !== 'PENDING', status)
})

test('callers see each status after some fact, and another send instead of a duplicate', () => {
  const types = lifecycles.flatMap(([, facts]) => Object.keys(facts) as TransactionFactType[]) // The keys are the types.
  const statuses = new Set(types.map(findTransactionStatus))
  assert.deepEqual(statuses, new Set([...transactionStatuses, null]))
  assert.equal(findTransactionStatus('HashTaken'), null)
  assert.equal(findTransactionStatus('ReceiveExpiryReached'), 'PENDING')
})

test('the timeline has an event when a transaction starts to wait, and an event for each end', () => {
  const types = lifecycles.map(([, facts]) => Object.keys(facts) as TransactionFactType[]) // The keys are the types.
  for (const direction of types) {
    const events = direction.flatMap((type) => findTransactionEventType(type) ?? [])
    assert.deepEqual(events, transactionEventTypes)
    for (const type of direction) {
      const [event, status] = [findTransactionEventType(type), findTransactionStatus(type)]
      if (event) assert.equal(event, `payment.${status?.toLowerCase()}`)
    }
  }
})
