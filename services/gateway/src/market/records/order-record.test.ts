import type { Fact } from '@penstock/kernel/message.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { OrderInRole, AccountRole } from '../read/sales.ts'
import type { ChannelView } from '../views/channel-view.ts'
import type { HoldView } from '../views/hold-view.ts'
import { evolveOrderView, type OrderView } from '../views/order-view.ts'
import { toOrderRecord } from './order-record.ts'

const outpoint = createOutpoint(1)
const other = createOutpoint(2)
const named = { type: 'OutpointAccepted', data: { attempt: 1, outpoint } }
const toNamed = [
  { type: 'OrderPlaced', data: { ...createOrderTerms(), approveBefore: null } },
  { type: 'PaymentHeld', data: { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 } },
  { type: 'AttemptStarted', data: { attempt: 1, candidate: createCandidate(1) } },
  { type: 'ChannelOpenRequested', data: { attempt: 1, openBefore: 1_900_000_000_000 } },
  named,
]
const release = { type: 'ReleaseRequested', data: { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' } }
const settling = { type: 'SettlingStarted', data: { outpoint, lastHeight: false } }
const closed = { type: 'AdminClosed', data: { by: 'ops', reason: 'asked to' } }

const seller: AccountRole = { kind: 'seller', attempt: 1, isCurrent: true, actionNeeded: false }

function record(
  facts: readonly Pick<Fact, 'type' | 'data'>[],
  parts: { hold?: object; channel?: object; role?: AccountRole } = {},
) {
  const order = facts.reduce<OrderView | undefined>(
    (view, one, revision) =>
      evolveOrderView(view, {
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
  const orderInRole: OrderInRole = {
    order: order ?? assert.fail(),
    // The record reads only the parts that the test gives.
    hold: parts.hold as HoldView | undefined,
    channel: parts.channel as ChannelView | undefined,
    role: parts.role ?? seller,
  }
  const gateway = { lookUpNode: async () => ({ alias: null, sockets: [] }), records: { get: async () => undefined } }
  return toOrderRecord(gateway as never, orderInRole) // the tested fields read no other part of the gateway
}

describe('the field closing contains the reason of a pending release, else null, for', () => {
  const cases: readonly [string, Parameters<typeof record>, string | null][] = [
    ['an order without a release', [toNamed, { hold: { status: 'held' } }], null],
    ['a requested release', [[...toNamed, release], { hold: { status: 'held' } }], 'asked to'],
    ['an unconfirmed cancellation', [[...toNamed, release], { hold: { status: 'cancelling', reason: 'no' } }], 'asked to'],
    [
      'a cancellation that only settlement requested',
      [toNamed, { hold: { status: 'cancelling', reason: 'Too few blocks.' } }],
      'Too few blocks.',
    ],
    ['a cancellation without a reason', [toNamed, { hold: { status: 'cancelled', reason: null } }], 'The payment goes back.'],
    ['a settlement after the requested release', [[...toNamed, release, settling]], null],
    ['a settlement that the order does not know', [[...toNamed, release], { hold: { status: 'settling' } }], null],
    ['an order that has ended', [[...toNamed, release, closed], { hold: { status: 'cancelled', reason: 'no' } }], null],
    ['a replaced seller', [[...toNamed, release], { role: { ...seller, isCurrent: false } }], null],
  ]
  test.each(cases)('%s', (_, args, closing) => assert.equal(record(...args).closing, closing))
})

test('the record omits watcher data of a replaced outpoint', () => {
  const facts = [
    ...toNamed,
    { type: 'FundingSeenRecorded', data: { outpoint } },
    { ...named, data: { attempt: 1, outpoint: other } },
  ]
  const channel = { outpoint, confirmations: 3, channelId: '120x1x0', tipHeight: 125, leaseEndsAtHeight: 130, lease: null }
  const shown = ({ channel_id, confirmations, blocks_until_can_be_closed }: ReturnType<typeof record>) => [
    channel_id,
    confirmations.confirmations,
    blocks_until_can_be_closed,
  ]
  assert.deepEqual(shown(record(facts, { channel })), [null, 0, createOrderTerms().leaseBlocks])
  assert.deepEqual(shown(record(facts, { channel: { ...channel, outpoint: other } })), ['120x1x0', 3, 5])
})
