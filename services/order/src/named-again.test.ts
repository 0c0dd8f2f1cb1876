import assert from 'node:assert/strict'
import { fold } from '@penstock/kernel/decider.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import { attestationOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { fact } from './fact.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'
import type { OrderPorts } from './enrich.ts'
import { named } from './samples.contract.ts'
import { orders } from './service.ts'

const [one, two] = [outpointOf(1), outpointOf(2)]
const naming = (outpoint: string, isNew = true) => [
  fact('OutpointOffered', { attempt: 1, outpoint, attestation: null }),
  ...(isNew ? [fact('OutpointClaimed', { attempt: 1, outpoint })] : []),
  fact('OutpointNamed', { attempt: 1, outpoint }),
]
const started = fact('Told', { what: 'watch-started', key: one })
const ended = fact('Told', { what: 'watch-stopped', key: '1' })
/** The seller names one outpoint, another, and the first again: that is the third naming. */
const again = [...named, started, ...naming(two), ...naming(one, false)]

const watch = (number?: number) =>
  ({
    type: 'RecordTold',
    data: { what: 'watch-started', key: one, ...(number === undefined ? {} : { naming: number }) },
  }) as const
const reason = 'It is gone.'
/** What the watch of a naming tells; 0 is one that did not count. */
const of = (naming: number) =>
  ({
    lost: { type: 'RecordFundingLost', data: { outpoint: one, failure: 'vanished', reason, naming } },
    wrong: { type: 'RecordChannelWrong', data: { outpoint: one, reason, blamed: true, naming } },
    seen: { type: 'RecordFundingSeen', data: { outpoint: one, naming } },
    confirmed: { type: 'RecordFundingConfirmed', data: { outpoint: one, height: 120, channelId: '120x1x0', naming } },
    reached: { type: 'RecordConfirmationsReached', data: { outpoint: one, confirmations: 3, naming } },
    reorged: { type: 'RecordFundingReorged', data: { outpoint: one, naming } },
  }) as const
const { lost, wrong } = of(0)
const seen = fact('FundingSeen', { outpoint: one })
const confirmed = fact('FundingConfirmed', { outpoint: one, height: 120, channelId: '120x1x0' })
const opened = fact('ChannelOpened', { outpoint: one, confirmations: 3 })
const toSendSwap = fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason, blamed: true, by: null })
const toInvalid = fact('ReleaseRequested', { to: 'INVALID_CHANNEL_OPENING', reason, blamed: true, by: null })

describe('a seller whose funding is lost while it names another', () => {
  const offered = [...named, started, ...naming(two).slice(0, 2)]
  const data = { attempt: 1, outpoint: two, attested: false, tooLate: false, naming: 2 }
  const lostOne = of(1).lost
  const again = [...offered, ended]

  test('keeps its sale where the other is noted', () => {
    given(order, ...offered)
      .when(lostOne)
      .then(ended)
    given(order, ...again)
      .when(lostOne)
      .then()
    given(order, ...again)
      .when({ type: 'RecordOutpointNoted', data: { ...data, noted: true, reason: null } })
      .then(fact('OutpointNamed', { attempt: 1, outpoint: two }))
    // The watch of the other is asked for, and may be lost too.
    const renamed = [...again, fact('OutpointNamed', { attempt: 1, outpoint: two })]
    given(order, ...renamed)
      .when({ type: 'RecordFundingLost', data: { ...lostOne.data, outpoint: two, naming: 2 } })
      .then(ended, toSendSwap)
  })

  test('fails where the other is refused', () => {
    const why = 'The funding transaction that was named before is lost'
    given(order, ...again)
      .when({ type: 'RecordOutpointNoted', data: { ...data, noted: false, reason: 'no', naming: 0 } })
      .then(
        fact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'no' }),
        fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: why, blamed: true, by: null }),
      )
    given(order, ...named, started, ...naming(two).slice(0, 1), ended)
      .when({ type: 'RecordOutpointClaim', data: { attempt: 1, outpoint: two, granted: false } })
      .then(
        fact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'This outpoint serves another order' }),
        fact('ReleaseRequested', { to: 'SELLER_FAILED_TO_SEND_SWAP', reason: why, blamed: true, by: null }),
      )
  })

  test('goes back to what waits for a block where it was in one', () => {
    given(order, ...named, started, ...naming(two).slice(0, 1), seen, confirmed)
      .when(lostOne)
      .then(ended, fact('FundingReorged', { outpoint: one }))
  })
})

describe('a seller whose outpoint is wrong, as it turns out while it names another', () => {
  const offered = [...named, started, ...naming(two).slice(0, 2)]
  const data = { attempt: 1, outpoint: two, attested: false, tooLate: false, naming: 2 }
  const wrongOne = of(1).wrong
  const found = fact('ChannelFoundWrong', { outpoint: one, reason, blamed: true })
  const refused = fact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'no' })

  test('keeps its sale where the other is noted', () => {
    for (const history of [offered, [...offered, seen], [...offered, seen, confirmed], [...offered, seen, confirmed, opened]]) {
      given(order, ...history)
        .when(wrongOne)
        .then(ended, found)
      given(order, ...history, ended, found)
        .when(wrongOne)
        .then()
      given(order, ...history, ended, found)
        .when({ type: 'RecordOutpointNoted', data: { ...data, noted: true, reason: null } })
        .then(fact('OutpointNamed', { attempt: 1, outpoint: two }))
    }
    // What was found of the one before says nothing of the other, whose naming may be replaced once more.
    const three = outpointOf(3)
    const renamed = [...offered, ended, found, fact('OutpointNamed', { attempt: 1, outpoint: two })]
    given(order, ...renamed, ...naming(three).slice(0, 2))
      .when({ type: 'RecordOutpointNoted', data: { ...data, outpoint: three, noted: false, reason: 'no', naming: 0 } })
      .then(fact('OutpointRefused', { attempt: 1, outpoint: three, reason: 'no' }))
    given(order, ...renamed)
      .when({ type: 'RecordChannelWrong', data: { ...wrongOne.data, outpoint: two, naming: 2 } })
      .then(ended, toInvalid)
  })

  test('fails by it where the other is refused, and is blamed for that alone', () => {
    const refusal = { type: 'RecordOutpointNoted', data: { ...data, noted: false, reason: 'no', naming: 0 } } as const
    given(order, ...offered, ended, found)
      .when(refusal)
      .then(refused, toInvalid)
    // Who spent it is not known.
    const unblamed = { reason: 'It is spent.', blamed: false }
    given(order, ...offered, ended, fact('ChannelFoundWrong', { outpoint: one, ...unblamed }))
      .when(refusal)
      .then(refused, fact('ReleaseRequested', { to: 'INVALID_CHANNEL_OPENING', ...unblamed, by: null }))
  })

  test('closes at once where nothing is being recorded', () => {
    given(order, ...named, started)
      .when(wrongOne)
      .then(ended, toInvalid)
    given(order, ...offered, refused)
      .when(wrongOne)
      .then(ended, toInvalid)
  })

  test('has the state that was hashed before that was kept', () => {
    const [{ hashed }] = orders.aggregates as [Aggregate<OrderPorts>]
    const state = fold(order, offered)
    const before = JSON.parse(canonical(state).replace(',"wrong":null', '')) as unknown
    assert.equal(canonical(hashed.of[3]?.(state)), canonical(before))
    assert.equal(canonical(hashed.of[4]?.(state)), canonical(state))
  })
})

describe('a seller that goes back to an outpoint that it had named before', () => {
  test('does not fail for what the watch of the earlier naming tells late', () => {
    for (const late of [lost, wrong])
      given(order, ...again)
        .when(late)
        .then()
  })

  test('fails for what the watch of this naming tells', () => {
    given(order, ...again, started)
      .when(lost)
      .then(ended, toSendSwap)
    given(order, ...again, started)
      .when(wrong)
      .then(ended, toInvalid)
  })

  test('hears nothing that the watch of an earlier naming tells, also when the new one has begun', () => {
    const open = [...again, started, seen, confirmed, opened]
    for (const history of [again, [...again, started], [...again, started, seen], open])
      for (const number of [1, 2])
        for (const late of Object.values(of(number)))
          given(order, ...history)
            .when(late)
            .then()
  })

  test('hears all that the watch of this naming tells, also before that is told to have begun', () => {
    const now = of(3)
    for (const history of [again, [...again, started]]) {
      given(order, ...history)
        .when(now.lost)
        .then(ended, toSendSwap)
      given(order, ...history)
        .when(now.wrong)
        .then(ended, toInvalid)
      given(order, ...history)
        .when(now.seen)
        .then(seen)
      given(order, ...history)
        .when(now.confirmed)
        .then(seen, confirmed)
      given(order, ...history)
        .when(now.reached)
        .then(opened)
      given(order, ...history, seen, confirmed, opened)
        .when(now.reorged)
        .then(fact('FundingReorged', { outpoint: one }))
    }
  })

  test('is caught up with by the number that its watch gets', () => {
    const settling = { type: 'RecordSettling', data: { outpoint: two, confirmations: 3, lastHeight: true } } as const
    const closing = fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' })
    const offered = naming(two).slice(0, 2)
    const refused = fact('OutpointRefused', { attempt: 1, outpoint: two, reason: 'asked to' })
    const history = [...named, started, ...offered, closing, refused]
    const { decision } = given(order, ...history).when(settling)
    assert.ok('facts' in decision)
    const facts = [...history, ...decision.facts]
    const watching = fulfilment(fold(order, facts), 'o').flatMap((step) =>
      step.kind === 'command' && step.command.type === 'WatchOutpoint' ? [step.command.data] : [],
    )
    const number = 3
    assert.deepEqual(
      watching.map((data) => 'naming' in data && data.naming),
      [number],
    )
    given(order, ...facts)
      .when({ type: 'RecordFundingConfirmed', data: { outpoint: two, height: 120, channelId: '120x1x0', naming: number } })
      .then(fact('FundingConfirmed', { outpoint: two, height: 120, channelId: '120x1x0' }))
  })

  test('is not named by the note of an earlier naming: settlement may refuse this one', () => {
    const noted = (number: number, attested = false) =>
      ({
        type: 'RecordOutpointNoted',
        data: { attempt: 1, outpoint: one, noted: true, attested, reason: null, tooLate: false, naming: number },
      }) as const
    const offeredAgain = [
      ...named,
      started,
      ...naming(two),
      ...naming(one, false).slice(0, 1),
      fact('OutpointClaimed', { attempt: 1, outpoint: one }),
    ]
    for (const number of [1, 2])
      given(order, ...offeredAgain)
        .when(noted(number, true))
        .then()
    for (const number of [3, 0])
      given(order, ...offeredAgain)
        .when(noted(number))
        .then(fact('OutpointNamed', { attempt: 1, outpoint: one }))

    const attested = [...again, fact('AttestationGiven', { attempt: 1, outpoint: one, attestation: attestationOf(one) })]
    given(order, ...attested)
      .when(noted(1, true))
      .then()
    // Also while another outpoint is being noted.
    for (const history of [attested, [...attested, ...naming(outpointOf(3)).slice(0, 2)]])
      given(order, ...history)
        .when(noted(3, true))
        .then(fact('Told', { what: 'attestation-noted', key: one }))
  })

  test('is told of its attestation by the watch of this naming alone', () => {
    const attestation = attestationOf(one)
    const attested = [...again, started, fact('AttestationGiven', { attempt: 1, outpoint: one, attestation })]
    const kept = (number: number) =>
      ({ type: 'RecordTold', data: { what: 'attestation-kept', key: one, naming: number } }) as const
    for (const number of [1, 2])
      given(order, ...attested)
        .when(kept(number))
        .then()
    for (const number of [3, 0])
      given(order, ...attested)
        .when(kept(number))
        .then(fact('Told', { what: 'attestation-kept', key: one }))
  })

  test('is watched anew: only the watch of this naming counts as begun', () => {
    for (const number of [1, 2])
      given(order, ...again)
        .when(watch(number))
        .then()
    for (const number of [3, 0, undefined])
      given(order, ...again)
        .when(watch(number))
        .then(started)
  })

  test('is still told to end the watch where the order failed before the new one was told to have begun', () => {
    const closed = [
      fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'asked to', blamed: false, by: 'ops' }),
      fact('AdminClosed', { by: 'ops', reason: 'asked to' }),
    ]
    given(order, ...again, ...closed)
      .when(lost)
      .then()
    given(order, ...again, started, ...closed)
      .when(lost)
      .then(ended)
  })
})
