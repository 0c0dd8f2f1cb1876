import assert from 'node:assert/strict'
import type { OrderFact, OrderTerms } from '@penstock/contracts/order.ts'
import { encodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import {
  createAttestation,
  buyerAccountId,
  createCandidate,
  createOrderTerms,
  createOutpoint,
  secretKeyFor,
} from '@penstock/testkit/order-terms.ts'
import { test } from 'vitest'
import { attemptLifecycle } from './attempt.ts'
import type { EnrichedOrderCommand } from './order.decide.ts'
import { orderDecider as decider, orderLifecycle } from './order.ts'
import type { AttemptStatus, Order, OrderLifecycleStatus } from './state.ts'

type Step = { readonly type: EnrichedOrderCommand['type']; readonly data: object }
const step = <Type extends EnrichedOrderCommand['type']>(
  type: Type,
  data: Extract<EnrichedOrderCommand, { type: Type }>['data'],
): Step => ({
  type,
  data,
})

const secretKey = secretKeyFor(1)
const terms = (manual: boolean): OrderTerms => ({
  ...createOrderTerms(manual),
  candidate: { ...createCandidate(1), sellerPubkey: derivePubkey(secretKey) },
})
const first = terms(true).candidate
const [one, two] = [createOutpoint(1), createOutpoint(2)]
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

// Each list of commands brings an order to the status that its name describes.
const manual = [step('PlaceOrder', terms(true))]
const standing = [step('PlaceOrder', terms(false))]
const issued = [...standing, step('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 })]
const held = [...issued, step('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' })]
const matched = (attempt: number) =>
  step('RecordMatched', { attempt, candidate: attempt === 1 ? first : createCandidate(attempt) })
const reach = (check: number, reached = true, height = 100) =>
  step('RecordBuyerReach', { check, reached, reason: 'silent', height })
const started = [...held, matched(1)]
const opening = [...started, reach(1)]
const name = (outpoint: string, by = seller, attested = false) =>
  step('SubmitOutpoint', { by, outpoint, attestation: attested ? createAttestation(outpoint) : null })
const claim = (outpoint: string, attempt = 1, granted = true) => step('RecordOutpointClaim', { attempt, outpoint, granted })
const note = (outpoint: string, attempt = 1, registered = true, attested = false) =>
  step('RecordOutpointRegistered', { attempt, outpoint, registered, attested, reason: null, tooLate: false, outpointNumber: 0 })
const submission = (outpoint: string) => [name(outpoint), claim(outpoint), note(outpoint)]
const named = [...opening, ...submission(one)]
const fundingSeen = [...named, step('RecordFundingSeen', { outpoint: one, outpointNumber: 1 })]
const confirm = (height = 120) =>
  step('RecordFundingConfirmed', { outpoint: one, height, channelId: `${height}x1x0`, outpointNumber: 0 })
const confirmed = [...fundingSeen, confirm()]
const opened = [...confirmed, step('RecordConfirmationsReached', { outpoint: one, confirmations: 3, outpointNumber: 1 })]
const settle = step('RecordSettling', { outpoint: one, confirmations: 3, lastHeight: false })
const settling = [...opened, settle]
const valid = [...settling, step('RecordHoldSettled', { settledAt: 5 })]
const finish = step('RecordLeaseEnded', { outpoint: one, early: false, closedBy: null })

const cancelled = (
  reason: 'released' | 'last-height' | 'expired' | 'node',
  verdict: 'wrong' | 'unconfirmed' | 'unproven' | 'unnamed' | null = null,
) => step('RecordHoldCancelled', { reason, verdict, sentence: 'it is over' })
const released = cancelled('released')
const operatorCloses = step('CloseByOperator', { by: 'ops', reason: 'asked to' })
/** An operator who closes an order with an accepted outpoint has to bear the loss. */
const operatorBearsLoss = step('CloseByOperator', { by: 'ops', reason: 'asked to', bearsLoss: true })
const lost = step('RecordFundingLost', { outpoint: one, failure: 'double-spent', reason: 'spent elsewhere', outpointNumber: 1 })
const wrong = step('RecordChannelInvalid', { outpoint: one, reason: 'too small', blamed: true, outpointNumber: 1 })
const reorged = step('RecordFundingReorged', { outpoint: one, outpointNumber: 1 })
const withdraw = step('Withdraw', { reason: 'too slow' })
const unreachable = step('Cancel', { by: seller, reason: 'UNABLE_TO_CONNECT_TO_NODE' })
const expiring = step('RecordHoldExpiring', { reason: 'too late' })
const giveUp = step('Cancel', { by: seller, reason: 'I cannot' })
const accept = (digit: number) => step('Accept', { by: seller, request: invoiceOf(digit), network: 'regtest' })
const payout = (digit: number, accepted: boolean) =>
  step('RecordPayoutInvoice', { paymentHash: `${digit}`.repeat(64), accepted, reason: null })
const paid = step('RecordPayout', { what: 'paid', detail: null })
const issuedLate = step('RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 9 })
const heldLate = step('RecordHoldHeld', { expiryHeight: 250, heldAtHeight: 100, receivedMsat: '3000000' })

const takenTransitions = new Set<string>()
const takenAttemptTransitions = new Set<string>()

/** Carries out commands that are all accepted. @returns the state after them */
function carryOut(steps: readonly Step[]): Order {
  return steps.reduce<Order>((state, command, at) => {
    const decision = decider.decide(state, { id: `c${at}`, at, ...command } as unknown as EnrichedOrderCommand) // `step` checks the type
    assert.ok('facts' in decision, `${command.type} is refused: ${JSON.stringify(decision)}`)
    return decision.facts.reduce(evolveAndRecord, state)
  }, decider.initial)
}

function evolveAndRecord(before: Order, fact: OrderFact): Order {
  const after = decider.evolve(before, fact)
  takenTransitions.add(`${before.status} ${fact.type} ${after.status}`)
  if (before.status === 'NONE' || after.status === 'NONE') return after
  for (const { number, status } of before.attempts) {
    const now = after.attempts[number - 1]?.status
    if (now !== undefined && now !== status) takenAttemptTransitions.add(`${status} ${now}`)
  }
  return after
}

const scenarios: readonly (readonly [OrderLifecycleStatus, readonly Step[]])[] = [
  ['WAITING_FOR_SELLER_APPROVAL', [...manual, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['SELLER_REJECTED', [...manual, step('Reject', { by: seller, record: null })]],
  ['SELLER_FAILED_TO_REACT', [...manual, step('LapseApproval', { deadline: 86_400_000 })]],
  ['BUYER_REJECTED', [...manual, step('Cancel', { by: buyerAccountId, reason: 'no' })]],
  ['BUYER_REJECTED', [...standing, step('RecordHoldRefused', { reason: 'unreachable' })]],
  ['BUYER_REJECTED', [...standing, withdraw, issuedLate, heldLate, released]],
  ['BUYER_REJECTED', [...standing, cancelled('node')]],
  ['BUYER_REJECTED', [...issued, withdraw, released]],
  ['BUYER_REJECTED', [...issued, withdraw, heldLate, released]],
  ['ADMIN_CLOSED', [...standing, operatorCloses, issuedLate, step('RecordHoldRefused', { reason: 'withdrawn' })]],
  ['WAITING_FOR_BUYER_PAYMENT', [...issued, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['BUYER_FAILED_TO_PAY', [...issued, cancelled('expired'), heldLate]],
  ['BUYER_FAILED_TO_PAY', [...issued, cancelled('node'), heldLate]],
  // The payment arrived after its invoice had expired.
  ['BUYER_FAILED_TO_PAY', [...issued, expiring, heldLate, matched(1), cancelled('expired')]],
  ['BUYER_FAILED_TO_PAY', [...held, cancelled('expired')]],
  ['BUYER_FAILED_TO_PAY', [...started, cancelled('expired')]],
  ['SELLER_REJECTED', [...held, step('RecordUnmatched', { attempt: 1, reason: 'nobody' }), released, heldLate]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...held, cancelled('last-height', 'unnamed'), heldLate]],
  ['ADMIN_CLOSED', [...held, operatorCloses, released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...started, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['WAITING_FOR_CHANNEL_OPEN', [...opening, step('LapseOpening', { attempt: 1, deadline: 4 + 21_600_000 }), matched(2)]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...started, reach(1, false), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...started, reach(1, true, 209), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...opening, giveUp, step('RecordUnmatched', { attempt: 2, reason: 'nobody' }), released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...opening, cancelled('node')]],
  // A seller cannot connect, so our own node tries to connect to the buyer's node once more.
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...opening, unreachable, reach(2, false), released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...opening, unreachable, reach(2), matched(2), reach(3)]],
  ['SELLER_SENT_TRANSACTION', [...opening, unreachable, ...submission(one), reach(2, false)]],
  ['WAITING_FOR_CHANNEL_OPEN', [...started, giveUp]],
  ['ADMIN_CLOSED', [...opening, operatorCloses, released]],
  ['WAITING_FOR_CHANNEL_OPEN', [...opening, name(one), claim(one, 1, false)]],
  ['WAITING_FOR_CHANNEL_OPEN', [...opening, name(one), claim(one), note(one, 1, false)]],
  ['SELLER_SENT_TRANSACTION', [...opening, name(one), name(one, seller, true), claim(one), note(one, 1, true, true)]],
  // A failed seller submits an outpoint before and after the next attempt has begun.
  [
    'SELLER_SENT_TRANSACTION',
    [
      ...opening,
      giveUp,
      name(one),
      step('RecordReservationRenewal', { attempt: 1, granted: true, reason: null }),
      claim(one),
      note(one),
    ],
  ],
  [
    'SELLER_SENT_TRANSACTION',
    [
      ...opening,
      giveUp,
      matched(2),
      reach(2),
      name(one),
      step('RecordReservationRenewal', { attempt: 1, granted: true, reason: null }),
      claim(one),
      note(one),
    ],
  ],
  [
    'WAITING_FOR_CHANNEL_OPEN',
    [
      ...opening,
      giveUp,
      matched(2),
      reach(2),
      name(one),
      step('RecordReservationRenewal', { attempt: 1, granted: false, reason: null }),
    ],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, ...submission(two), name(one), note(one)]],
  [
    'SELLER_SENT_TRANSACTION',
    [...named, name(one, seller, true), note(one, 1, true, true), accept(1), payout(1, true), accept(2), payout(2, false)],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two, 1, false)]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, lost, released, heldLate]],
  ['INVALID_CHANNEL_OPENING', [...named, wrong, released, heldLate]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('last-height', 'unconfirmed')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('last-height', 'unproven')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('node', 'unproven')]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...named, cancelled('node')]],
  ['INVALID_CHANNEL_OPENING', [...named, cancelled('last-height', 'wrong')]],
  ['ADMIN_CLOSED', [...named, operatorBearsLoss, released]],
  ['SELLER_OPENED_CHANNEL', [...named, settle]],
  [
    'SELLER_SENT_TRANSACTION',
    [...named, name(two), claim(two), step('RecordFundingSeen', { outpoint: one, outpointNumber: 1 }), note(two)],
  ],
  [
    'WAITING_FOR_ON_CHAIN_CONFIRMATION',
    [...named, name(two), step('RecordFundingSeen', { outpoint: one, outpointNumber: 1 }), claim(two), name(one, seller, true)],
  ],
  ['WAITING_FOR_ON_CHAIN_CONFIRMATION', [...fundingSeen, accept(1), payout(1, true), accept(2), payout(2, false)]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...fundingSeen, lost, released]],
  ['INVALID_CHANNEL_OPENING', [...fundingSeen, wrong, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...fundingSeen, cancelled('node', 'unproven')]],
  ['ADMIN_CLOSED', [...fundingSeen, operatorBearsLoss, released]],
  ['SELLER_OPENED_CHANNEL', [...fundingSeen, settle]],
  [
    'ON_CHAIN_CONFIRMATION',
    [...confirmed, confirm(121), name(one, seller, true), accept(1), payout(1, true), accept(2), payout(2, false)],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...confirmed.slice(named.length), note(two)]],
  ['ON_CHAIN_CONFIRMATION', [...named, name(two), ...confirmed.slice(named.length), claim(two)]],
  // The channel is found invalid while another outpoint may replace it.
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...fundingSeen.slice(named.length), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...confirmed.slice(named.length), wrong, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...opened.slice(named.length), wrong, note(two)]],
  ['INVALID_CHANNEL_OPENING', [...named, name(two), wrong, claim(two, 1, false), released]],
  // The funding is lost while another outpoint may replace it.
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), lost, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...fundingSeen.slice(named.length), lost, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...confirmed.slice(named.length), lost, note(two)]],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...opened.slice(named.length), lost, note(two)]],
  ['WAITING_FOR_ON_CHAIN_CONFIRMATION', [...confirmed, reorged]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...confirmed, lost, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...confirmed, cancelled('last-height', 'unconfirmed')]],
  ['INVALID_CHANNEL_OPENING', [...confirmed, wrong, released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...confirmed, cancelled('last-height', 'unproven')]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...confirmed, cancelled('node')]],
  ['ADMIN_CLOSED', [...confirmed, operatorBearsLoss, released]],
  [
    'SELLER_OPENED_CHANNEL',
    [...opened, confirm(121), name(one, seller, true), accept(1), payout(1, true), accept(2), payout(2, false)],
  ],
  ['SELLER_SENT_TRANSACTION', [...named, name(two), claim(two), ...opened.slice(named.length), note(two)]],
  ['SELLER_OPENED_CHANNEL', [...named, name(two), ...opened.slice(named.length), claim(two)]],
  ['WAITING_FOR_ON_CHAIN_CONFIRMATION', [...opened, reorged]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...opened, lost, released]],
  ['SELLER_FAILED_TO_SEND_SWAP', [...opened, cancelled('last-height', 'unconfirmed')]],
  ['INVALID_CHANNEL_OPENING', [...opened, wrong, released]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...opened, cancelled('last-height', 'unproven')]],
  ['ADMIN_CLOSED', [...opened, operatorBearsLoss, released]],
  ['SELLER_OPENED_CHANNEL', [...settling, reorged, lost]],
  ['SELLER_FAILED_TO_OPEN_CHANNEL', [...settling, cancelled('node', 'unproven')]],
  ['VALID_CHANNEL_OPENING', [...opened, operatorBearsLoss, settle, step('RecordHoldSettled', { settledAt: 5 })]],
  [
    'VALID_CHANNEL_OPENING',
    [...opening, name(one), claim(one), operatorCloses, note(one), settle, step('RecordHoldSettled', { settledAt: 5 })],
  ],
  ['VALID_CHANNEL_OPENING', [...valid, confirm(121), wrong, accept(1), payout(1, true), paid]],
  ['VALID_CHANNEL_OPENING', [...valid, accept(1), payout(1, false)]],
  [
    'CHANNEL_MONITORING_FINISHED',
    [...valid, finish, cancelled('node'), accept(1), payout(1, true), accept(2), payout(2, false), paid],
  ],
]
// An invoice that is issued after the end is recorded once, for every kind of end.
const lateEventScenarios: readonly (readonly Step[])[] = [
  [...manual, step('LapseApproval', { deadline: 86_400_000 }), issuedLate],
  [...manual, step('Reject', { by: seller, record: null }), issuedLate],
]

test.each(scenarios)('a scenario ends as %s', (status, steps) => {
  assert.equal(carryOut(steps).status, status)
})

test('an invoice that is issued after the end does not change the status', () => {
  for (const steps of lateEventScenarios) assert.equal(carryOut(steps).status, carryOut(steps.slice(0, -1)).status)
})

test('the scenarios take every transition of the order machine, except those of earlier versions', () => {
  for (const [, steps] of scenarios) carryOut(steps)
  for (const steps of lateEventScenarios) carryOut(steps)
  const missing = orderLifecycle.edges.map((edge) => edge.join(' ')).filter((edge) => !takenTransitions.has(edge))
  const earlier = orderLifecycle.edges.filter(([, type]) => type === 'Told').map((edge) => edge.join(' '))
  assert.deepEqual(missing, earlier)
})

test('the scenarios take every transition of the attempt machine', () => {
  for (const [, steps] of scenarios) carryOut(steps)
  const moving = attemptLifecycle.edges.filter(([from, , to]: readonly [AttemptStatus, string, AttemptStatus]) => from !== to)
  const missing = moving.map(([from, , to]) => `${from} ${to}`).filter((edge) => !takenAttemptTransitions.has(edge))
  assert.deepEqual(missing, [])
})
