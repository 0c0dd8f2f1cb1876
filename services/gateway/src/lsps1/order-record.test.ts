import type { OrderFact } from '@penstock/contracts/order.ts'
import { createAttestation, createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { HoldView } from '../market/views/hold-view.ts'
import { evolveOrderView, type OrderView } from '../market/views/order-view.ts'
import { toLspOrder } from './order-record.ts'

const at = Date.parse('2027-01-31T12:00:00.000Z')
const outpoint = createOutpoint(7)
const lsps = {
  lspBalanceSat: '1000000',
  clientBalanceSat: '0',
  requiredChannelConfirmations: 1,
  fundingConfirmsWithinBlocks: 8,
  channelExpiryBlocks: 144,
  announceChannel: true,
}
const fact = <T extends OrderFact['type']>(type: T, data: Extract<OrderFact, { type: T }>['data']) =>
  ({ type, v: 1, data }) as OrderFact

const placed = fact('OrderPlaced', {
  ...createOrderTerms(),
  source: 'lsps1-cheapest',
  lsps,
  leaseBlocks: 144,
  approveBefore: null,
})
const issued = fact('HoldIssuedRecorded', { paymentHash: 'a'.repeat(64), invoice: 'lnbcrt1', expiresAt: at + 3_600_000 })
const held = fact('PaymentHeld', { expiryHeight: 300, heldAtHeight: 100, receivedMsat: '3000000', openBeforeHeight: 200 })
const started = fact('AttemptStarted', { attempt: 1, candidate: createCandidate(1) })
const asked = fact('ChannelOpenRequested', { attempt: 1, openBefore: at })
const offered = fact('OutpointSubmitted', { attempt: 1, outpoint, attestation: createAttestation(outpoint) })
const named = fact('OutpointAccepted', { attempt: 1, outpoint })
const seen = fact('FundingSeenRecorded', { outpoint })
const confirmed = fact('FundingConfirmedRecorded', { outpoint, height: 120, channelId: '120x1x0' })
const reorged = fact('FundingReorgedRecorded', { outpoint })
const opened = fact('ChannelOpened', { outpoint, confirmations: 3 })
const valid = fact('OrderValid', { settledAt: at })
const expired = fact('BuyerFailedToPay', { reason: 'The invoice expired unpaid.' })
const vanished = fact('SellerFailedToSendSwap', { attempt: 1, reason: 'The transaction vanished.', lastHeight: false })
const failed = fact('SellerFailedToOpenChannel', { reason: 'Nobody opened.', blamed: true, lastHeight: false })
const closing = fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: 'It vanished.', blamed: true, by: null })
const finished = fact('MonitoringFinished', { attempt: 1, early: false, closedBy: null })

const toHold = [placed, issued, held, started, asked]
const toNamed = [...toHold, offered, named]

const fold = (facts: readonly OrderFact[]): OrderView => {
  const view = facts.reduce<OrderView | undefined>(
    (before, one, revision) =>
      evolveOrderView(before, {
        id: `${revision}`,
        category: 'order',
        aggregateId: '00000000-0000-4000-8000-000000000001',
        revision,
        position: 0n,
        at: at + revision * 1000,
        commandId: '',
        correlation: '',
        fact: one,
      }),
    undefined,
  )
  return view ?? assert.fail()
}
const record = (facts: readonly OrderFact[], hold?: Partial<HoldView>) =>
  toLspOrder({ order: fold(facts), hold: hold as HoldView | undefined, channel: undefined }) // the record reads only the status

const cases: readonly [string, readonly OrderFact[], string, string, Partial<HoldView>?][] = [
  ['not paid yet', [placed, issued], 'CREATED', 'EXPECT_PAYMENT'],
  ['held', [placed, issued, held], 'CREATED', 'HOLD'],
  ['a seller is opening', toHold, 'CREATED', 'HOLD'],
  ['an outpoint is accepted', toNamed, 'CREATED', 'HOLD'],
  ['the funding is published', [...toNamed, seen], 'COMPLETED', 'HOLD'],
  ['confirmed', [...toNamed, seen, confirmed], 'COMPLETED', 'HOLD'],
  ['a re-organisation follows', [...toNamed, seen, confirmed, reorged], 'COMPLETED', 'HOLD'],
  [
    'settled by the node, before the order records it',
    [...toNamed, seen, confirmed, opened],
    'COMPLETED',
    'PAID',
    { status: 'settled' },
  ],
  ['valid', [...toNamed, seen, confirmed, opened, valid], 'COMPLETED', 'PAID'],
  ['valid at the last height, never seen by the watcher', [...toNamed, opened, valid], 'COMPLETED', 'PAID'],
  ['monitored to its end', [...toNamed, seen, opened, valid, finished], 'COMPLETED', 'PAID'],
  ['expired unpaid', [placed, issued, expired], 'FAILED', 'REFUNDED'],
  ['no seller opened', [...toHold, failed], 'FAILED', 'REFUNDED'],
  ['accepted and never published', [...toNamed, vanished], 'FAILED', 'REFUNDED'],
  ['a release is requested but not done', [...toNamed, closing], 'CREATED', 'HOLD'],
  ['published, then released', [...toNamed, seen, vanished], 'COMPLETED', 'REFUNDED'],
]

describe('order_state and payment state', () => {
  test.each(cases)('have the values of the standard in the case: %s', (_, facts, orderState, paymentState, hold) => {
    const found = record(facts, hold) ?? assert.fail()
    assert.deepEqual([found.order_state, found.payment.bolt11.state], [orderState, paymentState])
    assert.equal(found.channel !== null, orderState === 'COMPLETED')
  })
})

test('a record has all fields, and its timestamps have the form of the standard', () => {
  assert.deepEqual(record([...toNamed, seen]), {
    order_id: '00000000-0000-4000-8000-000000000001',
    lsp_balance_sat: '1000000',
    client_balance_sat: '0',
    required_channel_confirmations: 1,
    funding_confirms_within_blocks: 8,
    channel_expiry_blocks: 144,
    token: '',
    created_at: '2027-01-31T12:00:00.000Z',
    announce_channel: true,
    order_state: 'COMPLETED',
    payment: {
      bolt11: {
        state: 'HOLD',
        expires_at: '2027-01-31T13:00:00.000Z',
        fee_total_sat: '3000',
        order_total_sat: '3000',
        invoice: 'lnbcrt1',
      },
    },
    channel: { funded_at: '2027-01-31T12:00:07.000Z', funding_outpoint: outpoint, expires_at: '2027-02-01T12:00:07.000Z' },
  })
})

test('the channel has neither the time nor the outpoint of a replaced transaction', () => {
  const other = createOutpoint(8)
  const replaced = [...toNamed, seen, fact('OutpointAccepted', { attempt: 1, outpoint: other })]
  const between = record(replaced) ?? assert.fail()
  // COMPLETED is final.
  assert.deepEqual([between.order_state, between.channel], ['COMPLETED', null])
  const found = record([...replaced, fact('FundingSeenRecorded', { outpoint: other })]) ?? assert.fail()
  assert.deepEqual(found.channel, {
    funded_at: '2027-01-31T12:00:09.000Z',
    funding_outpoint: other,
    expires_at: '2027-02-01T12:00:09.000Z',
  })
})

test('an order of another interface and an order without an invoice have no record', () => {
  assert.equal(record([fact('OrderPlaced', { ...createOrderTerms(), approveBefore: null }), issued]), undefined)
  assert.equal(record([placed]), undefined)
})
