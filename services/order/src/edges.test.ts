import assert from 'node:assert/strict'
import type { OrderFact, OrderTerms } from '@penstock/contracts/order.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import { attestationOf, buyerAccount, candidateOf, orderTermsOf, outpointOf, secretOf } from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { attemptLifecycle } from './attempt.ts'
import type { OrderCommand } from './order.decide.ts'
import { order as decider, orderLifecycle } from './order.ts'
import type { AttemptStatus, Order, OrderStatus } from './state.ts'

type Step = { readonly type: OrderCommand['type']; readonly data: object }
const step = <Type extends OrderCommand['type']>(type: Type, data: Extract<OrderCommand, { type: Type }>['data']): Step => ({
  type,
  data,
})

const secretKey = secretOf(1)
const terms = (manual: boolean): OrderTerms => ({
  ...orderTermsOf(manual),
  candidate: { ...candidateOf(1), sellerPubkey: pubkeyOf(secretKey) },
})
const first = terms(true).candidate
const [one, two] = [outpointOf(1), outpointOf(2)]
const seller = first.sellerAccountId
const invoiceOf = (digit: number) =>
  encodePaymentRequest(
    {
      network: 'regtest',
      paymentHash: `${digit}`.repeat(64),
      amountMsat: 2_500_000n,
      paymentSecret: '0'.repeat(64),
      createdAt: 1_700_000_000_000,
      expirySeconds: (10 * DAY_MS) / 1000,
      cltvDelta: 40,
      description: 'payout',
    },
    secretKey,
  )

// What has to be told to come as far as the name says.
const manual = [step('PlaceOrder', terms(true))]
const standing = [step('PlaceOrder', terms(false))]
const issued = [...standing, step('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 })]
const held = [...issued, step('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' })]
const matched = (attempt: number) => step('RecordMatched', { attempt, candidate: attempt === 1 ? first : candidateOf(attempt) })
const reach = (look: number, reached = true, height = 100) =>
  step('RecordBuyerReach', { look, reached, reason: 'silent', height })
const started = [...held, matched(1)]
const asked = [...started, reach(1)]
const name = (outpoint: string, by = seller, attested = false) =>
  step('NameOutpoint', { by, outpoint, attestation: attested ? attestationOf(outpoint) : null })
const claim = (outpoint: string, attempt = 1, granted = true) => step('RecordOutpointClaim', { attempt, outpoint, granted })
const note = (outpoint: string, attempt = 1, noted = true, attested = false) =>
  step('RecordOutpointNoted', { attempt, outpoint, noted, attested, reason: null, tooLate: false, naming: 0 })
const naming = (outpoint: string) => [name(outpoint), claim(outpoint), note(outpoint)]
const watched = step('RecordTold', { what: 'watch-started', key: one })
const named = [...asked, ...naming(one), watched]
const seen = [...named, step('RecordFundingSeen', { outpoint: one, naming: 0 })]
const confirm = (height = 120) => step('RecordFundingConfirmed', { outpoint: one, height, channelId: `${height}x1x0`, naming: 0 })
const confirmed = [...seen, confirm()]
const opened = [...confirmed, step('RecordConfirmationsReached', { outpoint: one, confirmations: 3, naming: 0 })]
const settle = step('RecordSettling', { outpoint: one, confirmations: 3, lastHeight: false })
const settling = [...opened, settle]
const valid = [...settling, step('RecordHoldSettled', { settledAt: 5 })]
const finish = step('RecordLeaseEnded', { outpoint: one, early: false, closedBy: null })

const cancelled = (
  reason: 'released' | 'last-height' | 'expired' | 'node',
  verdict: 'wrong' | 'unconfirmed' | 'unproven' | 'unnamed' | null = null,
) => step('RecordHoldCancelled', { reason, verdict, sentence: 'it is over' })
const released = cancelled('released')
const operator = step('CloseByOperator', { by: 'ops', reason: 'asked to' })
/** Once a channel is named the operator has to say so. */
const operatorBears = step('CloseByOperator', { by: 'ops', reason: 'asked to', bearsLoss: true })
const lost = step('RecordFundingLost', { outpoint: one, failure: 'double-spent', reason: 'spent elsewhere', naming: 0 })
const wrong = step('RecordChannelWrong', { outpoint: one, reason: 'too small', blamed: true, naming: 0 })
const reorged = step('RecordFundingReorged', { outpoint: one, naming: 0 })
const withdraw = step('Withdraw', { reason: 'too slow' })
const unreachable = step('Cancel', { by: seller, reason: 'UNABLE_TO_CONNECT_TO_NODE' })
const expiring = step('RecordHoldExpiring', { reason: 'too late' })
const giveUp = step('Cancel', { by: seller, reason: 'I cannot' })
const told = (what: Extract<OrderFact, { type: 'Told' }>['data']['what'], key = '1') => step('RecordTold', { what, key })
const accept = (digit: number) => step('Accept', { by: seller, request: invoiceOf(digit), network: 'regtest' })
const payout = (digit: number, taken: boolean) =>
  step('RecordPayoutInvoice', { paymentHash: `${digit}`.repeat(64), taken, reason: null })
const paid = step('RecordPayout', { what: 'paid', detail: null })
const issuedLate = step('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 })
const heldLate = step('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' })

const edges = new Set<string>()
const attemptEdges = new Set<string>()

/** Carries out commands that are all accepted. @returns the state they lead to */
function play(steps: readonly Step[]): Order {
  return steps.reduce<Order>((state, command, at) => {
    const decision = decider.decide(state, { id: `c${at}`, at, ...command } as unknown as OrderCommand) // typed where it was made
    assert.ok('facts' in decision, `${command.type} is refused: ${JSON.stringify(decision)}`)
    return decision.facts.reduce(walked, state)
  }, decider.initial)
}

function walked(before: Order, fact: OrderFact): Order {
  const after = decider.evolve(before, fact)
  edges.add(`${before.status} ${fact.type} ${after.status}`)
  if (before.status === 'NONE' || after.status === 'NONE') return after
  for (const { number, status } of before.attempts) {
    const now = after.attempts[number - 1]?.status
    if (now !== undefined && now !== status) attemptEdges.add(`${status} ${now}`)
  }
  return after
}

const ways: readonly (readonly [OrderStatus, readonly Step[]])[] = [
  ['WAITING_FOR_SELLER_APPROVAL', [...manual, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['SELLER_REJECTED', [...manual, step('Reject', { by: seller, record: null })]],
  ['SELLER_FAILED_TO_REACT', [...manual, step('LapseApproval', { deadline: 86_400_000 })]],
  ['BUYER_REJECTED', [...manual, step('Cancel', { by: buyerAccount, reason: 'no' })]],
  ['BUYER_REJECTED', [...standing, step('RecordHoldRefused', { reason: 'unreachable' })]],
  ['BUYER_REJECTED', [...standing, withdraw, issuedLate, heldLate, released]],
  ['BUYER_REJECTED', [...standing, cancelled('node')]],
  ['BUYER_REJECTED', [...issued, withdraw, released]],
  ['BUYER_REJECTED', [...issued, withdraw, heldLate, released]],
  ['ADMIN_CLOSED', [...standing, operator, issuedLate, step('RecordHoldRefused', { reason: 'withdrawn' })]],
  ['WAITING_FOR_BUYER_PAYMENT', [...issued, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['BUYER_FAILED_TO_PAY', [...issued, cancelled('expired'), heldLate]],
  ['BUYER_FAILED_TO_PAY', [...issued, cancelled('node'), heldLate]],
  // a payment that came when its invoice had expired
  ['BUYER_FAILED_TO_PAY', [...issued, expiring, heldLate, matched(1), cancelled('expired')]],
  ['BUYER_FAILED_TO_PAY', [...held, cancelled('expired'), told('match-released')]],
  ['BUYER_FAILED_TO_PAY', [...started, cancelled('expired'), told('match-released')]],
  ['SELLER_REJECTED', [...held, step('RecordUnmatched', { attempt: 1, reason: 'nobody' }), released, heldLate]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...held, cancelled('last-height', 'unnamed'), told('match-released'), heldLate]],
  ['ADMIN_CLOSED', [...held, operator, released]],
  ['ADMIN_CLOSED', [...held, operator, told('match-released'), released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...started, accept(1), payout(1, true), accept(2), payout(2, false)]],
  [
    'WAITING_FOR_CHANNEL_OPEN',
    [...asked, step('LapseOpening', { attempt: 1, deadline: 4 + 21_600_000 }), told('match-released'), matched(2)],
  ],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...started, reach(1, false), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...started, reach(1, true, 209), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...asked, giveUp, step('RecordUnmatched', { attempt: 2, reason: 'nobody' }), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...asked, cancelled('node')]],
  // a seller that cannot connect: our own node tries the buyer's once more
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...asked, unreachable, reach(2, false), released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...asked, unreachable, reach(2), matched(2), reach(3)]],
  ['SELLER_SENT_TRANSACTION', [...asked, unreachable, ...naming(one), reach(2, false)]],
  ['WAITING_FOR_CHANNEL_OPEN', [...started, giveUp]],
  ['ADMIN_CLOSED', [...asked, operator, released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...asked, name(one), claim(one, 1, false)]],
  ['WAITING_FOR_CHANNEL_OPEN', [...asked, name(one), claim(one), note(one, 1, false)]],
  ['SELLER_SENT_TRANSACTION', [...asked, name(one), name(one, seller, true), claim(one), note(one, 1, true, true)]],
  // a failed seller's outpoint, before and after its successor has begun
  [
    'SELLER_SENT_TRANSACTION',
    [...asked, giveUp, name(one), step('RecordRereserved', { attempt: 1, granted: true, reason: null }), claim(one), note(one)],
  ],
  [
    'SELLER_SENT_TRANSACTION',
    [
      ...asked,
      giveUp,
      matched(2),
      reach(2),
      name(one),
      step('RecordRereserved', { attempt: 1, granted: true, reason: null }),
      claim(one),
      note(one),
    ],
  ],
  [
    'WAITING_FOR_CHANNEL_OPEN',
    [...asked, giveUp, matched(2), reach(2), name(one), step('RecordRereserved', { attempt: 1, granted: false, reason: null })],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, ...naming(two), name(one), note(one)]],
  [
    'SELLER_SENT_TRANSACTION',
    [...named, name(one, seller, true), note(one, 1, true, true), accept(1), payout(1, true), accept(2), payout(2, false)],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two, 1, false), told('watch-started', one)]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, lost, released, heldLate]],
  ['INVALID_CHANNEL_OPENING', [...named, wrong, released, heldLate]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('last-height', 'unconfirmed'), told('watch-stopped')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('last-height', 'unproven')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('node', 'unproven')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('node')]],
  ['INVALID_CHANNEL_OPENING', [...named, cancelled('last-height', 'wrong'), told('watch-stopped')]],
  ['ADMIN_CLOSED', [...named, operatorBears, released]],
  ['SELLER_OPENED_CHANNEL', [...named, settle]],
  [
    'SELLER_SENT_TRANSACTION',
    [...named, name(two), claim(two), step('RecordFundingSeen', { outpoint: one, naming: 0 }), note(two)],
  ],
  [
    'WAITING_FOR_ON_CHAIN_CONFIRMATION',
    [...named, name(two), step('RecordFundingSeen', { outpoint: one, naming: 0 }), claim(two), name(one, seller, true)],
  ],
  [
    'WAITING_FOR_ON_CHAIN_CONFIRMATION',
    [...seen, told('watch-started', one), accept(1), payout(1, true), accept(2), payout(2, false)],
  ],
  ['SELLER_FAILED_TO_SEND_SWAP', [...seen, lost, released]],
  ['INVALID_CHANNEL_OPENING', [...seen, wrong, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...seen, cancelled('node', 'unproven')]],
  ['ADMIN_CLOSED', [...seen, operatorBears, released]],
  ['SELLER_OPENED_CHANNEL', [...seen, settle]],
  [
    'ON_CHAIN_CONFIRMATION',
    [
      ...confirmed,
      confirm(121),
      name(one, seller, true),
      told('watch-started', one),
      accept(1),
      payout(1, true),
      accept(2),
      payout(2, false),
    ],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...confirmed.slice(named.length), note(two)]],
  ['ON_CHAIN_CONFIRMATION', [...named, name(two), ...confirmed.slice(named.length), claim(two)]],
  // the outpoint that is being replaced turns out to be wrong
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...seen.slice(named.length), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...confirmed.slice(named.length), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...opened.slice(named.length), wrong, note(two)]],
  ['INVALID_CHANNEL_OPENING', [...named, name(two), wrong, claim(two, 1, false), released]],
  ['WAITING_FOR_ON_CHAIN_CONFIRMATION', [...confirmed, reorged]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...confirmed, lost, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...confirmed, cancelled('last-height', 'unconfirmed')]],
  ['INVALID_CHANNEL_OPENING', [...confirmed, wrong, released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...confirmed, cancelled('last-height', 'unproven')]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...confirmed, cancelled('node')]],
  ['ADMIN_CLOSED', [...confirmed, operatorBears, released]],
  [
    'SELLER_OPENED_CHANNEL',
    [
      ...opened,
      confirm(121),
      name(one, seller, true),
      told('watch-started', one),
      accept(1),
      payout(1, true),
      accept(2),
      payout(2, false),
    ],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...opened.slice(named.length), note(two)]],
  ['SELLER_OPENED_CHANNEL', [...named, name(two), ...opened.slice(named.length), claim(two)]],
  ['WAITING_FOR_ON_CHAIN_CONFIRMATION', [...opened, reorged]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...opened, lost, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...opened, cancelled('last-height', 'unconfirmed')]],
  ['INVALID_CHANNEL_OPENING', [...opened, wrong, released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...opened, cancelled('last-height', 'unproven')]],
  ['ADMIN_CLOSED', [...opened, operatorBears, released]],
  ['SELLER_OPENED_CHANNEL', [...settling, reorged, lost]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...settling, cancelled('node', 'unproven')]],
  ['VALID_CHANNEL_OPENING', [...opened, operatorBears, settle, step('RecordHoldSettled', { settledAt: 5 })]],
  [
    'VALID_CHANNEL_OPENING',
    [...asked, name(one), claim(one), operator, note(one), settle, step('RecordHoldSettled', { settledAt: 5 })],
  ],
  ['VALID_CHANNEL_OPENING', [...valid, confirm(121), wrong, told('match-used'), accept(1), payout(1, true), paid]],
  ['VALID_CHANNEL_OPENING', [...valid, accept(1), payout(1, false)]],
  [
    'CHANNEL_MONITORING_FINISHED',
    [...valid, finish, told('match-used'), cancelled('node'), accept(1), payout(1, true), accept(2), payout(2, false), paid],
  ],
]
// A stranger's word after the end is taken down once, whatever the end was.
const lateEnds: readonly (readonly Step[])[] = [
  [...manual, step('LapseApproval', { deadline: 86_400_000 }), issuedLate],
  [...manual, step('Reject', { by: seller, record: null }), issuedLate],
]

test.each(ways)('%s', (status, steps) => {
  assert.equal(play(steps).status, status)
})

test('whatever comes after an end is noted and changes nothing', () => {
  for (const steps of lateEnds) assert.equal(play(steps).status, play(steps.slice(0, -1)).status)
})

test('these ways use every edge of the order machine', () => {
  for (const [, steps] of ways) play(steps)
  for (const steps of lateEnds) play(steps)
  const missing = orderLifecycle.edges.map((edge) => edge.join(' ')).filter((edge) => !edges.has(edge))
  assert.deepEqual(missing, [])
})

test('and every edge of the attempt machine', () => {
  for (const [, steps] of ways) play(steps)
  const moving = attemptLifecycle.edges.filter(([from, , to]: readonly [AttemptStatus, string, AttemptStatus]) => from !== to)
  const missing = moving.map(([from, , to]) => `${from} ${to}`).filter((edge) => !attemptEdges.has(edge))
  assert.deepEqual(missing, [])
})
