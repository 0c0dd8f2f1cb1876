import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { createAttestation, createCandidate, createOrderTerms, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { fulfilment } from './fulfilment.ts'
import { orderDecider } from './order.ts'
import {
  openRequestedFacts,
  outpointClaimedFacts,
  paymentHeldFacts,
  invoiceIssuedFacts,
  outpointAcceptedFacts,
  outpointSubmittedFacts,
  acceptedFacts,
  attemptStartedFacts,
} from './order-facts.fixture.ts'
import { channelTermsOf, requiredConfirmationsOf, holdTermsOf, needOf, computeOpenBeforeHeight } from './terms.ts'

const id = '00000000-0000-4000-8000-0000000000aa'
const [one, two] = [createOutpoint(1), createOutpoint(2)]
const terms = createOrderTerms()

/** The process steps after these facts: commands as `receiver: command (step/attempt)`, and deadlines by their step. */
const requestsAfter = (...facts: readonly OrderFact[]): readonly string[] =>
  fulfilment(fold(orderDecider, facts), id).map((next) =>
    next.kind === 'command'
      ? `${next.category}: ${next.command.type} (${next.step}/${next.attempt})`
      : `${next.kind}: ${next.step}`,
  )

const fundingSeen = orderFact('FundingSeenRecorded', { outpoint: one })
const fundingConfirmed = orderFact('FundingConfirmedRecorded', { outpoint: one, height: 120, channelId: '120x1x0' })
const watchReported = [...outpointAcceptedFacts, fundingSeen, fundingConfirmed]
const opened = [...watchReported, orderFact('ChannelOpened', { outpoint: one, confirmations: 3 })]

test('the search for a manual order has one offer, and says whether its seller has approved the order', () => {
  const searchOf = (autoAccepted: boolean, isManual: boolean) => {
    const placed = orderFact('OrderPlaced', { ...createOrderTerms(isManual), autoAccepted, approveBefore: null })
    const [step] = fulfilment(fold(orderDecider, [placed, ...paymentHeldFacts.slice(1)]), id)
    assert.ok(step?.kind === 'command' && step.command.type === 'FindSeller')
    const { only, autoAccepted: isAccepted } = step.command.data as { only: boolean; autoAccepted: boolean } // the type says so
    return [only, isAccepted]
  }
  assert.deepEqual(searchOf(true, false), [false, true])
  assert.deepEqual(searchOf(true, true), [true, true])
  assert.deepEqual(searchOf(false, true), [true, false])
})

test('each fact on the way to a valid channel leads to the next command or deadline', () => {
  const manual = orderFact('OrderPlaced', { ...createOrderTerms(true), approveBefore: 1000 })
  assert.deepEqual(requestsAfter(manual), ['deadline: lapse-approval'])
  assert.deepEqual(requestsAfter(...acceptedFacts), ['settlement: IssueHold (issue-hold/1)'])
  assert.deepEqual(requestsAfter(...invoiceIssuedFacts), [])
  assert.deepEqual(requestsAfter(...paymentHeldFacts), ['match: FindSeller (find-seller-1/1)'])
  assert.deepEqual(requestsAfter(...attemptStartedFacts), ['settlement: CheckReach (check-reach-1/1)'])
  assert.deepEqual(requestsAfter(...openRequestedFacts), ['deadline: lapse-opening-1-0'])
  assert.deepEqual(requestsAfter(...outpointSubmittedFacts), ['outpoint: ClaimOutpoint (claim-1/1)'])
  assert.deepEqual(requestsAfter(...outpointClaimedFacts), ['settlement: RegisterOutpoint (note-outpoint-1/1)'])
  assert.deepEqual(requestsAfter(...outpointAcceptedFacts), ['channel: WatchOutpoint (watch-1/1)'])
  assert.deepEqual(requestsAfter(...watchReported), [])
  assert.deepEqual(requestsAfter(...opened), ['settlement: SettleHold (settle-hold/1)'])
  const settling = [...opened, orderFact('SettlingStarted', { outpoint: one, lastHeight: false })]
  assert.deepEqual(requestsAfter(...settling), [])
  const valid = [...settling, orderFact('OrderValid', { settledAt: 1 })]
  assert.deepEqual(requestsAfter(...valid), ['match: UseMatch (use-match-1/1)', 'channel: StartLease (start-lease/1)'])
})

describe('the command to watch is repeated', () => {
  const watch = 'channel: WatchOutpoint (watch-1/1)'
  const isWatchRequested = (...facts: readonly OrderFact[]) => requestsAfter(...facts).includes(watch)
  const settlingStarted = orderFact('SettlingStarted', { outpoint: one, lastHeight: true })

  test('until the first report of the watch, and after a re-organisation no more', () => {
    assert.ok(isWatchRequested(...outpointAcceptedFacts))
    assert.ok(!isWatchRequested(...outpointAcceptedFacts, fundingSeen))
    assert.ok(!isWatchRequested(...watchReported, orderFact('FundingReorgedRecorded', { outpoint: one })))
  })

  test('until a confirmation is reported, if settlement settled before any report', () => {
    const settling = [...outpointAcceptedFacts, orderFact('ChannelOpened', { outpoint: one, confirmations: 3 }), settlingStarted]
    const valid = [...settling, orderFact('OrderValid', { settledAt: 1 })]
    assert.deepEqual(requestsAfter(...settling), [watch])
    assert.deepEqual(requestsAfter(...valid), ['match: UseMatch (use-match-1/1)', watch, 'channel: StartLease (start-lease/1)'])
    assert.ok(!isWatchRequested(...valid, fundingConfirmed))
  })

  test('for each submission, whatever the watch of an earlier submission reported', () => {
    const next = [
      orderFact('OutpointSubmitted', { attempt: 1, outpoint: two, attestation: null }),
      orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: two }),
    ]
    const accepted = orderFact('OutpointAccepted', { attempt: 1, outpoint: two })
    const requests = requestsAfter(...outpointAcceptedFacts, ...next, fundingSeen, fundingConfirmed, accepted)
    assert.deepEqual(requests, ['channel: WatchOutpoint (watch-2/1)'])
  })
})

describe('an order whose caller waits for the invoice', () => {
  const invoiceBefore = 5000
  const at = 15_000
  const placed = [
    orderFact('OrderPlaced', { ...createOrderTerms(), invoiceBefore, approveBefore: null }),
    orderFact('SellerAccepted', { by: createOrderTerms().candidate.sellerAccountId, autoAccepted: true }),
  ]
  const lapse = (deadline: number) => ({ type: 'LapseInvoice', data: { deadline } }) as const
  const ending = orderFact('BuyerRejected', { reason: 'The invoice was not issued in time; nothing has to be paid.' })

  test('requests it with this limit, and waits ten seconds longer for it', () => {
    const [issue, lapseStep] = fulfilment(fold(orderDecider, placed), id)
    assert.ok(issue?.kind === 'command' && lapseStep?.kind === 'deadline')
    assert.deepEqual([issue.command.type, issue.notAfter], ['IssueHold', invoiceBefore])
    assert.deepEqual([lapseStep.due, lapseStep.command], [{ at }, lapse(at)])
  })

  test('ends without it, and settlement cancels an invoice that comes later', () => {
    given(orderDecider, ...placed)
      .when(lapse(at))
      .then(ending)
    given(orderDecider, ...placed, ending)
      .when(lapse(at))
      .then()
    assert.deepEqual(requestsAfter(...placed, ending), ['settlement: CancelHold (cancel-hold/1)'])
  })

  test('does not end at another time, or with an issued invoice', () => {
    const issued = orderFact('HoldIssuedRecorded', { paymentHash: '1'.repeat(64), invoice: 'lnbc1', expiresAt: 60_000 })
    given(orderDecider, ...placed)
      .when(lapse(at - 1))
      .then()
    given(orderDecider, ...placed, issued)
      .when(lapse(at))
      .then()
  })
})

test('an order that no caller waits for has no limit for its invoice', () => {
  const steps = fulfilment(fold(orderDecider, acceptedFacts), id)
  assert.deepEqual(
    steps.map((one) => [one.step, 'notAfter' in one]),
    [['issue-hold', false]],
  )
})

test('a channel that confirms again after a re-org requests the settlement with the next attempt number', () => {
  const again = [
    orderFact('FundingReorgedRecorded', { outpoint: one }),
    orderFact('FundingConfirmedRecorded', { outpoint: one, height: 9, channelId: '9x1x0' }),
  ]
  const back = requestsAfter(...opened, ...again, orderFact('ChannelOpened', { outpoint: one, confirmations: 3 }))
  assert.ok(back.includes('settlement: SettleHold (settle-hold/2)'), back.join())
})

test('an attestation that arrives after the acceptance is sent to settlement and to the watcher', () => {
  const attestation = createAttestation(one)
  const attested = [
    ...outpointAcceptedFacts,
    fundingSeen,
    orderFact('AttestationGiven', { attempt: 1, outpoint: one, attestation }),
  ]
  const later = requestsAfter(...attested)
  assert.deepEqual(later, ['channel: KeepAttestation (keep-attestation-1/1)', 'settlement: RegisterOutpoint (note-outpoint-1/2)'])
  const [keep] = fulfilment(fold(orderDecider, attested), id)
  assert.ok(keep?.kind === 'command')
  assert.deepEqual(keep.command.data, { outpoint: one, attestation, outpointNumber: 1 })
})

describe('an attestation that arrives before the acceptance', () => {
  const attestation = createAttestation(one)
  const submitted = orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation })
  const claimed = orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: one })
  const accepted = orderFact('OutpointAccepted', { attempt: 1, outpoint: one })
  const attestationGiven = orderFact('AttestationGiven', { attempt: 1, outpoint: one, attestation })
  const registered = (attested: boolean) =>
    ({
      type: 'RecordOutpointRegistered',
      data: { attempt: 1, outpoint: one, registered: true, attested, reason: null, tooLate: false, outpointNumber: 1 },
    }) as const

  test('is not sent again if settlement registered it with its outpoint', () => {
    given(orderDecider, ...openRequestedFacts, submitted, claimed)
      .when(registered(true))
      .then(accepted)
    const facts = [...openRequestedFacts, submitted, claimed, accepted]
    assert.deepEqual(requestsAfter(...facts), ['channel: WatchOutpoint (watch-1/1)'])
    given(orderDecider, ...facts)
      .when(registered(true))
      .then()
  })

  test('is sent until settlement has registered it, if settlement registered the outpoint without it', () => {
    for (const pending of [
      [submitted, claimed],
      [...outpointClaimedFacts.slice(openRequestedFacts.length), attestationGiven],
    ])
      given(orderDecider, ...openRequestedFacts, ...pending)
        .when(registered(false))
        .then(accepted, attestationGiven)
    const facts = [...openRequestedFacts, submitted, claimed, accepted, attestationGiven]
    assert.deepEqual(requestsAfter(...facts), [
      'channel: WatchOutpoint (watch-1/1)',
      'channel: KeepAttestation (keep-attestation-1/1)',
      'settlement: RegisterOutpoint (note-outpoint-1/2)',
    ])
    given(orderDecider, ...facts)
      .when(registered(true))
      .then()
  })
})

test('the reservation of a failed seller is released while the next seller is searched', () => {
  const failed = [...openRequestedFacts, orderFact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true })]
  assert.deepEqual(requestsAfter(...failed), ['match: FindSeller (find-seller-2/1)', 'match: ReleaseMatch (release-match-1/1)'])
  const late = orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: one, attestation: null })
  assert.deepEqual(requestsAfter(...failed, late), [
    'match: FindSeller (find-seller-2/1)',
    'match: RenewReservation (renew-reservation-1/1)',
  ])
  // The claim is refused, so the renewed reservation is released again.
  const refused = orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' })
  assert.deepEqual(
    requestsAfter(...failed, late, orderFact('ReservationRenewedRecorded', { attempt: 1, outpoint: one }), refused),
    ['match: FindSeller (find-seller-2/1)', 'match: ReleaseMatch (release-match-1/2)'],
  )
})

describe('a reservation that is renewed', () => {
  const failed = [...openRequestedFacts, orderFact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true })]
  const late = orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: one, attestation: null })
  const again = [...failed, late]
  const releasedAgain = [
    ...again,
    orderFact('ReservationRenewedRecorded', { attempt: 1, outpoint: one }),
    orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' }),
  ]
  const requestNumber = (history: readonly OrderFact[], type: string): unknown =>
    fulfilment(fold(orderDecider, history), id).flatMap((step) =>
      step.kind === 'command' && step.command.type === type
        ? [(step.command.data as { requestNumber?: number }).requestNumber]
        : [],
    )[0]

  test('is renewed after the earlier release, and released by a request with its own number', () => {
    assert.equal(requestNumber(failed, 'ReleaseMatch'), 1)
    assert.equal(requestNumber(again, 'RenewReservation'), 1)
    assert.equal(requestNumber(releasedAgain, 'ReleaseMatch'), 2)
    const second = [...releasedAgain, orderFact('LateOutpointSubmitted', { attempt: 1, outpoint: two, attestation: null })]
    assert.equal(requestNumber(second, 'RenewReservation'), 2)
  })
})

test("our own node tries the buyer's node if a seller cannot connect, and the opening window does not lapse meanwhile", () => {
  const reported = [...openRequestedFacts, orderFact('UnreachableReported', { attempt: 1, reason: 'x' })]
  assert.deepEqual(requestsAfter(...reported), ['settlement: CheckReach (check-reach-2/1)'])
  const next = [
    ...reported,
    orderFact('AttemptFailed', { attempt: 1, reason: 'x', blamed: true }),
    orderFact('AttemptStarted', { attempt: 2, candidate: createCandidate(2) }),
  ]
  assert.deepEqual(requestsAfter(...next), [
    'settlement: CheckReach (check-reach-3/1)',
    'match: ReleaseMatch (release-match-1/1)',
  ])
  const opens = orderFact('OutpointSubmitted', { attempt: 1, outpoint: one, attestation: null })
  assert.deepEqual(requestsAfter(...reported, opens), ['outpoint: ClaimOutpoint (claim-1/1)'])
  const refused = orderFact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' })
  assert.deepEqual(requestsAfter(...reported, opens, refused), ['deadline: lapse-opening-1-1'])
})

test('a match that was released while the order was closing is used if the order becomes valid', () => {
  const closing = orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' })
  const settled = [
    ...opened,
    closing,
    orderFact('SettlingStarted', { outpoint: one, lastHeight: false }),
    orderFact('OrderValid', { settledAt: 1 }),
  ]
  assert.deepEqual(requestsAfter(...settled), ['match: UseMatch (use-match-1/1)', 'channel: StartLease (start-lease/1)'])
})

test("the command to watch contains the seller's fee caps", () => {
  const [watch] = fulfilment(fold(orderDecider, outpointAcceptedFacts), id)
  assert.ok(watch?.kind === 'command')
  assert.deepEqual((watch.command.data as { feeCaps?: object }).feeCaps, { baseFeeCapSat: '1000', feeRateCapPpm: 500 })
})

test('a closing order requests only the cancellation, and an ended order notifies matching and the watcher', () => {
  const closing = [
    ...outpointAcceptedFacts,
    fundingSeen,
    orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
  ]
  assert.deepEqual(requestsAfter(...closing), ['settlement: CancelHold (cancel-hold/1)'])
  const [cancel] = fulfilment(fold(orderDecider, closing), id)
  assert.ok(cancel?.kind === 'command')
  assert.deepEqual(cancel.command.data, { sentence: 'x', byOperator: true })
  const ended = [...closing, orderFact('AdminClosed', { by: 'ops', reason: 'x' })]
  assert.deepEqual(requestsAfter(...ended), ['match: ReleaseMatch (release-match-1/1)', 'channel: StopWatch (stop-watch/1)'])
  assert.deepEqual(requestsAfter(...ended, orderFact('Told', { what: 'watch-stopped', key: '1' })), [
    'match: ReleaseMatch (release-match-1/1)',
  ])
})

test('a search that is still running when the order closes is released too', () => {
  const closing = [
    ...paymentHeldFacts,
    orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
  ]
  assert.deepEqual(requestsAfter(...closing), [
    'settlement: CancelHold (cancel-hold/1)',
    'match: ReleaseMatch (release-match-1/1)',
  ])
})

test('an order that was closing requests no cancellation once it is settling', () => {
  const overtaken = [
    ...opened,
    orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
    orderFact('SettlingStarted', { outpoint: one, lastHeight: false }),
  ]
  assert.deepEqual(requestsAfter(...overtaken), [])
})

test('an order that ends before its invoice was issued has the invoice cancelled', () => {
  assert.deepEqual(requestsAfter(...acceptedFacts, orderFact('BuyerRejected', { reason: 'x' })), [
    'settlement: CancelHold (cancel-hold/1)',
  ])
})

test('heights, amounts and requirements are computed from the terms', () => {
  // The expiry height 250 minus 30 spare blocks, 6 blocks to confirm and at least 6 confirmations.
  assert.equal(computeOpenBeforeHeight(terms, 250), 208)
  assert.equal(computeOpenBeforeHeight({ ...terms, requiredConfirmations: 10 }, 250), 204)
  assert.equal(computeOpenBeforeHeight(terms, 20), 0)
  assert.equal(requiredConfirmationsOf({ ...terms, requiredConfirmations: 1 }), 3)
  assert.equal(holdTermsOf(terms).amountMsat, '3000000')
  assert.equal(needOf(terms).sellerBudgetMsat, '2900000')
  assert.equal(needOf({ ...terms, isPrivate: true }).railsOnly, true)
  assert.equal(needOf({ ...terms, source: 'lsps1-recommended' }).ranking, 'recommended')
  assert.equal(channelTermsOf(terms, createCandidate(1), 100).requiredConfirmations, 3)
})
