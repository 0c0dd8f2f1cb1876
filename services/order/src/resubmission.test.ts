import assert from 'node:assert/strict'
import { fold } from '@penstock/kernel/decider.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { createAttestation, createOutpoint } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { orderFact } from './outcomes.ts'
import { fulfilment } from './fulfilment.ts'
import { orderDecider } from './order.ts'
import type { OrderPorts } from './enrich.ts'
import { outpointAcceptedFacts } from './order-facts.fixture.ts'
import { orderService } from './service.ts'

const [one, two] = [createOutpoint(1), createOutpoint(2)]
const submission = (outpoint: string, isNew = true) => [
  orderFact('OutpointSubmitted', { attempt: 1, outpoint, attestation: null }),
  ...(isNew ? [orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint })] : []),
  orderFact('OutpointAccepted', { attempt: 1, outpoint }),
]
const lossRecorded = orderFact('FundingLostRecorded', { outpoint: one })
/** The seller submits outpoint one, then outpoint two, and then outpoint one again as the third submission. */
const thirdSubmission = [...outpointAcceptedFacts, ...submission(two), ...submission(one, false)]

const reason = 'It is gone.'
/** The reports of a submission's watch; 0 stands for a version that did not count submissions. */
const reportsOf = (outpointNumber: number) =>
  ({
    lost: { type: 'RecordFundingLost', data: { outpoint: one, failure: 'vanished', reason, outpointNumber } },
    wrong: { type: 'RecordChannelInvalid', data: { outpoint: one, reason, blamed: true, outpointNumber } },
    seen: { type: 'RecordFundingSeen', data: { outpoint: one, outpointNumber } },
    confirmed: { type: 'RecordFundingConfirmed', data: { outpoint: one, height: 120, channelId: '120x1x0', outpointNumber } },
    reached: { type: 'RecordConfirmationsReached', data: { outpoint: one, confirmations: 3, outpointNumber } },
    reorged: { type: 'RecordFundingReorged', data: { outpoint: one, outpointNumber } },
  }) as const
const { lost, wrong } = reportsOf(0)
const fundingSeen = orderFact('FundingSeenRecorded', { outpoint: one })
const confirmed = orderFact('FundingConfirmedRecorded', { outpoint: one, height: 120, channelId: '120x1x0' })
const opened = orderFact('ChannelOpened', { outpoint: one, confirmations: 3 })
const toSendSwap = orderFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason, blamed: true, by: null })
const toInvalid = orderFact('ReleaseRequested', { to: 'INVALID_CHANNEL_OPENING', reason, blamed: true, by: null })

describe('a seller whose funding is lost while its next outpoint is pending', () => {
  const offered = [...outpointAcceptedFacts, ...submission(two).slice(0, 2)]
  const data = { attempt: 1, outpoint: two, attested: false, tooLate: false, outpointNumber: 2 }
  const lostOne = reportsOf(1).lost
  const recorded = [...offered, lossRecorded]

  test('keeps its sale if settlement registers the next outpoint', () => {
    given(orderDecider, ...offered)
      .when(lostOne)
      .then(lossRecorded)
    given(orderDecider, ...recorded)
      .when(lostOne)
      .then()
    given(orderDecider, ...recorded)
      .when({ type: 'RecordOutpointRegistered', data: { ...data, registered: true, reason: null } })
      .then(orderFact('OutpointAccepted', { attempt: 1, outpoint: two }))
    // The next outpoint is watched, and may be lost too.
    const renamed = [...recorded, orderFact('OutpointAccepted', { attempt: 1, outpoint: two })]
    given(orderDecider, ...renamed)
      .when({ type: 'RecordFundingLost', data: { ...lostOne.data, outpoint: two, outpointNumber: 2 } })
      .then(toSendSwap)
  })

  test('has the state and the hash of versions that recorded the end of the watch', () => {
    const before = orderFact('Told', { what: 'watch-stopped', key: '1' })
    assert.deepEqual(fold(orderDecider, recorded), fold(orderDecider, [...offered, before]))
  })

  test('fails if the next outpoint is refused', () => {
    const why = 'The funding transaction that was submitted before is lost'
    given(orderDecider, ...recorded)
      .when({ type: 'RecordOutpointRegistered', data: { ...data, registered: false, reason: 'no', outpointNumber: 0 } })
      .then(
        orderFact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'no' }),
        orderFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: why, blamed: true, by: null }),
      )
    given(orderDecider, ...outpointAcceptedFacts, ...submission(two).slice(0, 1), lossRecorded)
      .when({ type: 'RecordOutpointClaim', data: { attempt: 1, outpoint: two, granted: false } })
      .then(
        orderFact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'This outpoint serves another order' }),
        orderFact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: why, blamed: true, by: null }),
      )
  })

  test('waits for a confirmation again if the lost funding was confirmed', () => {
    given(orderDecider, ...outpointAcceptedFacts, ...submission(two).slice(0, 1), fundingSeen, confirmed)
      .when(lostOne)
      .then(lossRecorded, orderFact('FundingReorgedRecorded', { outpoint: one }))
  })
})

describe('a seller whose channel is found invalid while its next outpoint is pending', () => {
  const offered = [...outpointAcceptedFacts, ...submission(two).slice(0, 2)]
  const data = { attempt: 1, outpoint: two, attested: false, tooLate: false, outpointNumber: 2 }
  const wrongOne = reportsOf(1).wrong
  const found = orderFact('ChannelFoundInvalid', { outpoint: one, reason, blamed: true })
  const refused = orderFact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'no' })

  test('keeps its sale if settlement registers the next outpoint', () => {
    for (const history of [
      offered,
      [...offered, fundingSeen],
      [...offered, fundingSeen, confirmed],
      [...offered, fundingSeen, confirmed, opened],
    ]) {
      given(orderDecider, ...history)
        .when(wrongOne)
        .then(found)
      given(orderDecider, ...history, found)
        .when(wrongOne)
        .then()
      given(orderDecider, ...history, found)
        .when({ type: 'RecordOutpointRegistered', data: { ...data, registered: true, reason: null } })
        .then(orderFact('OutpointAccepted', { attempt: 1, outpoint: two }))
    }
    // The defect of the first outpoint does not count for the second outpoint, which a third outpoint may replace.
    const three = createOutpoint(3)
    const renamed = [...offered, found, orderFact('OutpointAccepted', { attempt: 1, outpoint: two })]
    given(orderDecider, ...renamed, ...submission(three).slice(0, 2))
      .when({
        type: 'RecordOutpointRegistered',
        data: { ...data, outpoint: three, registered: false, reason: 'no', outpointNumber: 0 },
      })
      .then(orderFact('OutpointRefused', { attempt: 1, outpoint: three, reason: 'no' }))
    given(orderDecider, ...renamed)
      .when({ type: 'RecordChannelInvalid', data: { ...wrongOne.data, outpoint: two, outpointNumber: 2 } })
      .then(toInvalid)
  })

  test('fails if the next outpoint is refused, and is blamed only for the defect', () => {
    const refusal = {
      type: 'RecordOutpointRegistered',
      data: { ...data, registered: false, reason: 'no', outpointNumber: 0 },
    } as const
    given(orderDecider, ...offered, found)
      .when(refusal)
      .then(refused, toInvalid)
    // The chain does not show which party spent the output.
    const unblamed = { reason: 'It is spent.', blamed: false }
    given(orderDecider, ...offered, orderFact('ChannelFoundInvalid', { outpoint: one, ...unblamed }))
      .when(refusal)
      .then(refused, orderFact('ReleaseRequested', { to: 'INVALID_CHANNEL_OPENING', ...unblamed, by: null }))
  })

  test('has its order closed at once if no outpoint is pending', () => {
    given(orderDecider, ...outpointAcceptedFacts)
      .when(wrongOne)
      .then(toInvalid)
    given(orderDecider, ...offered, refused)
      .when(wrongOne)
      .then(toInvalid)
  })

  test('has a state whose hash of version 3 omits the defect', () => {
    const [{ hashed }] = orderService.aggregates as [Aggregate<OrderPorts>]
    const state = fold(orderDecider, offered)
    const before = JSON.parse(toCanonicalJson(state).replace(',"defect":null', '')) as unknown
    assert.equal(toCanonicalJson(hashed.projections[3]?.(state)), toCanonicalJson(before))
    assert.equal(toCanonicalJson(hashed.projections[4]?.(state)), toCanonicalJson(state))
  })
})

describe('a seller that returns to an earlier outpoint', () => {
  test('fails because of a report without a number, as of a version that did not count submissions', () => {
    given(orderDecider, ...thirdSubmission)
      .when(lost)
      .then(toSendSwap)
    given(orderDecider, ...thirdSubmission)
      .when(wrong)
      .then(toInvalid)
  })

  test('is not affected by the watch of an earlier submission', () => {
    const open = [...thirdSubmission, fundingSeen, confirmed, opened]
    for (const history of [thirdSubmission, [...thirdSubmission, fundingSeen], open])
      for (const number of [1, 2])
        for (const late of Object.values(reportsOf(number)))
          given(orderDecider, ...history)
            .when(late)
            .then()
  })

  test('is affected by every report of the current watch', () => {
    const current = reportsOf(3)
    given(orderDecider, ...thirdSubmission)
      .when(current.lost)
      .then(toSendSwap)
    given(orderDecider, ...thirdSubmission)
      .when(current.wrong)
      .then(toInvalid)
    given(orderDecider, ...thirdSubmission)
      .when(current.seen)
      .then(fundingSeen)
    given(orderDecider, ...thirdSubmission)
      .when(current.confirmed)
      .then(fundingSeen, confirmed)
    given(orderDecider, ...thirdSubmission)
      .when(current.reached)
      .then(opened)
    given(orderDecider, ...thirdSubmission, fundingSeen, confirmed, opened)
      .when(current.reorged)
      .then(orderFact('FundingReorgedRecorded', { outpoint: one }))
  })

  test('has one submission number for order and watch if settlement settles an outpoint that the order refused', () => {
    const settling = { type: 'RecordSettling', data: { outpoint: two, confirmations: 3, lastHeight: true } } as const
    const closing = orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' })
    const offered = submission(two).slice(0, 2)
    const refused = orderFact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'asked to' })
    const history = [...outpointAcceptedFacts, ...offered, closing, refused]
    const { decision } = given(orderDecider, ...history).when(settling)
    assert.ok('facts' in decision)
    const facts = [...history, ...decision.facts]
    const watching = fulfilment(fold(orderDecider, facts), 'o').flatMap((step) =>
      step.kind === 'command' && step.command.type === 'WatchOutpoint' ? [step.command.data] : [],
    )
    const number = 3
    assert.deepEqual(
      watching.map((data) => 'outpointNumber' in data && data.outpointNumber),
      [number],
    )
    given(orderDecider, ...facts)
      .when({
        type: 'RecordFundingConfirmed',
        data: { outpoint: two, height: 120, channelId: '120x1x0', outpointNumber: number },
      })
      .then(orderFact('FundingConfirmedRecorded', { outpoint: two, height: 120, channelId: '120x1x0' }))
  })

  test('is not accepted by the registration of an earlier submission, because settlement may refuse the current one', () => {
    const registered = (number: number, attested = false) =>
      ({
        type: 'RecordOutpointRegistered',
        data: { attempt: 1, outpoint: one, registered: true, attested, reason: null, tooLate: false, outpointNumber: number },
      }) as const
    const offeredAgain = [
      ...outpointAcceptedFacts,
      ...submission(two),
      ...submission(one, false).slice(0, 1),
      orderFact('OutpointClaimedRecorded', { attempt: 1, outpoint: one }),
    ]
    for (const number of [1, 2])
      given(orderDecider, ...offeredAgain)
        .when(registered(number, true))
        .then()
    for (const number of [3, 0])
      given(orderDecider, ...offeredAgain)
        .when(registered(number))
        .then(orderFact('OutpointAccepted', { attempt: 1, outpoint: one }))

    const attested = [
      ...thirdSubmission,
      orderFact('AttestationGiven', { attempt: 1, outpoint: one, attestation: createAttestation(one) }),
    ]
    given(orderDecider, ...attested)
      .when(registered(1, true))
      .then()
    // The same applies while another outpoint is being registered.
    for (const history of [attested, [...attested, ...submission(createOutpoint(3)).slice(0, 2)]])
      given(orderDecider, ...history)
        .when(registered(3, true))
        .then()
  })

  test('changes nothing in a failed order, which stops its watch by a command', () => {
    const closed = [
      orderFact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }),
      orderFact('AdminClosed', { by: 'ops', reason: 'asked to' }),
    ]
    for (const report of [lost, wrong])
      given(orderDecider, ...thirdSubmission, ...closed)
        .when(report)
        .then()
  })
})
