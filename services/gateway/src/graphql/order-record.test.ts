import type { Fact } from '@penstock/kernel/message.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { OrderInRole, Role } from '../read/sales.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { HoldView } from '../views/hold-view.ts'
import { orderView, type OrderView } from '../views/order-view.ts'
import { orderRecord } from './order-record.ts'

const outpoint = outpointOf(1)
const other = outpointOf(2)
const named = { type: 'OutpointNamed', data: { attempt: 1, outpoint } }
const toNamed = [
  { type: 'OrderPlaced', data: { ...orderTermsOf(), approveBefore: null } },
  { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
  { type: 'AttemptStarted', data: { attempt: 1, candidate: candidateOf(1) } },
  { type: 'OpeningAsked', data: { attempt: 1, openBefore: 1_900_000_000_000 } },
  named,
]
const release = { type: 'ReleaseRequested', data: { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' } }
const settling = { type: 'SettlingStarted', data: { outpoint, lastHeight: false } }
const closed = { type: 'AdminClosed', data: { by: 'ops', reason: 'asked to' } }

const seller: Role = { is: 'seller', attempt: 1, current: true, actionNeeded: false }

function record(facts: readonly Pick<Fact, 'type' | 'data'>[], parts: { hold?: object; channel?: object; role?: Role } = {}) {
  const order = facts.reduce<OrderView | undefined>(
    (view, one, revision) =>
      orderView(view, {
        id: `${revision}`,
        category: 'order',
        aggregateId: '30000000-0000-4000-8000-000000000001',
        revision,
        position: 0n,
        at: revision,
        commandId: '',
        correlation: '',
        fact: { v: 1, ...one } as OrderFact,
      }),
    undefined,
  )
  const found: OrderInRole = {
    order: order ?? assert.fail(),
    // Only what is given is read.
    hold: parts.hold as HoldView | undefined,
    channel: parts.channel as ChannelView | undefined,
    role: parts.role ?? seller,
  }
  const gateway = { nodes: async () => ({ alias: null, sockets: [] }), records: { get: async () => undefined } }
  return orderRecord(gateway as never, found) // neither is asked for what is looked at here
}

describe('closing', () => {
  const cases: readonly [string, Parameters<typeof record>, string | null][] = [
    ['an order as it should be', [toNamed, { hold: { status: 'held' } }], null],
    ['a release is asked for', [[...toNamed, release], { hold: { status: 'held' } }], 'asked to'],
    ['the node has not confirmed it yet', [[...toNamed, release], { hold: { status: 'cancelling', reason: 'no' } }], 'asked to'],
    [
      'settlement gives it back by itself',
      [toNamed, { hold: { status: 'cancelling', reason: 'Too few blocks.' } }],
      'Too few blocks.',
    ],
    ['it went back, and nobody said why', [toNamed, { hold: { status: 'cancelled', reason: null } }], 'The payment goes back.'],
    ['a settlement outruns the release', [[...toNamed, release, settling]], null],
    ['also one that the order has not heard of', [[...toNamed, release], { hold: { status: 'settling' } }], null],
    ['an order that has ended', [[...toNamed, release, closed], { hold: { status: 'cancelled', reason: 'no' } }], null],
    ['one that was replaced is told nothing more', [[...toNamed, release], { role: { ...seller, current: false } }], null],
  ]
  test.each(cases)('%s', (_, args, closing) => assert.equal(record(...args).closing, closing))
})

test('what the watcher says of an outpoint that was replaced says nothing about the order', () => {
  const facts = [...toNamed, { type: 'FundingSeen', data: { outpoint } }, { ...named, data: { attempt: 1, outpoint: other } }]
  const channel = { outpoint, confirmations: 3, channelId: '120x1x0', tipHeight: 125, leaseEndsAtHeight: 130, lease: null }
  const shown = ({ channel_id, confirmations, blocks_until_can_be_closed }: ReturnType<typeof record>) => [
    channel_id,
    confirmations.confirmations,
    blocks_until_can_be_closed,
  ]
  assert.deepEqual(shown(record(facts, { channel })), [null, 0, orderTermsOf().leaseBlocks])
  assert.deepEqual(shown(record(facts, { channel: { ...channel, outpoint: other } })), ['120x1x0', 3, 5])
})
