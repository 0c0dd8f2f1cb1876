import { contracts } from '@penstock/contracts/contracts.ts'
import { expect, test } from 'vitest'
import { subjectFieldOf } from './tracing.ts'

test.each(['quote', 'order', 'match', 'settlement', 'channel'])('the id of a %s stream is the id of an order', (category) => {
  expect(subjectFieldOf(category, 'o1', 'o1')).toEqual({ order: 'o1' })
})

test.each(['offer', 'seller', 'account', 'payhash', 'outpoint'])(
  'a message to a %s stream is about an order if its correlation is not the stream itself',
  (category) => {
    expect(subjectFieldOf(category, 'a1', 'o1')).toEqual({ order: 'o1' })
    expect(subjectFieldOf(category, 'a1', 'a1')).toEqual({})
  },
)

const PAYMENTS = ['environment', 'wallet', 'receive', 'send', 'sendclaim', 'servicekey', 'endpoint']

test.each(['email', 'nodeclaim', 'price', ...PAYMENTS])('a message to a %s stream is never about an order', (category) => {
  expect(subjectFieldOf(category, 'e1', 'account-1')).toEqual({})
})

test('only messages to price, email, nodeclaim and payments streams are never about an order', () => {
  const known = ['quote', 'order', 'match', 'settlement', 'channel', 'offer', 'seller', 'account', 'payhash', 'outpoint']
  expect(contracts.map(({ category }) => category).filter((category) => !known.includes(category))).toEqual([
    'price',
    'email',
    'nodeclaim',
    ...PAYMENTS,
  ])
})
