import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SettlementPorts } from '../effects/ports.ts'
import { settlementService } from '../service.ts'
import { settlementDecider } from '../settlement.decide.ts'
import {
  sampleAttestation,
  holdCancelledFact,
  cancelRequestedFact,
  E,
  settlementFact,
  HASH,
  HELD_AT,
  outpointRegisteredFact,
  registeredOutpoint,
  OUTPOINT,
  holdRequestedFact,
  settlementWantedFact,
  stranger,
  sampleHoldTerms as orderTerms,
  heldHistory,
  registeredHistory,
  openHistory,
  settledHistory,
  settlingHistory,
  unseenOutpoint,
} from '../samples.fixture.ts'

/** The facts of a held payment for another channel than the sample channel. */
const soldAs = (change: Partial<NonNullable<typeof orderTerms.sold>>): readonly SettlementFact[] =>
  heldHistory.map((one) =>
    one.type === 'HoldRequested' && orderTerms.sold
      ? settlementFact('HoldRequested', { ...one.data, sold: { ...orderTerms.sold, ...change } })
      : one,
  )

describe('recording an outpoint', () => {
  const note = (height: number, change: object = {}) =>
    ({ type: 'RegisterOutpoint', data: { ...registeredOutpoint, height, ...unseenOutpoint, ...change } }) as const
  /** E − 30 − 6 blocks to confirm − 6 confirmations. */
  const last = E - 42
  test('is possible up to the last height at which a broadcast can still be proven', () => {
    given(settlementDecider, ...heldHistory)
      .when(note(last))
      .then(outpointRegisteredFact)
    expect(given(settlementDecider, ...heldHistory).when(note(last + 1)).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { attempt: 1, outpoint: OUTPOINT, tooLate: true } }],
    })
    const deep = { ...registeredOutpoint.terms, requiredConfirmations: 10 }
    const deepHeld = soldAs({ requiredConfirmations: 10 })
    expect(given(settlementDecider, ...deepHeld).when(note(last, { terms: deep })).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { tooLate: true } }],
    })
    given(settlementDecider, ...deepHeld)
      .when(note(last - 4, { terms: deep }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, terms: deep }))
  })
  test.each([
    ['between other nodes', { buyerPubkey: stranger }],
    ['of another capacity', { capacitySat: '20000' }],
    ['that is private, while a public one was sold', { isPrivate: true }],
    ['with fewer confirmations', { requiredConfirmations: 1 }],
    ['for a payment that was held earlier', { heldAtHeight: HELD_AT - 1 }],
  ])('is refused for a channel %s, because it is not the sold one', (_, change) => {
    const terms = { ...registeredOutpoint.terms, ...change }
    expect(given(settlementDecider, ...heldHistory).when(note(HELD_AT, { terms })).decision).toMatchObject({
      facts: [
        { type: 'OutpointRegistrationRefused', data: { reason: expect.stringContaining('not the one that was sold') as string } },
      ],
    })
  })
  test('compares only the held height if an earlier version requested the hold', () => {
    const older = heldHistory.map((one) => {
      if (one.type !== 'HoldRequested') return one
      const { sold, ...data } = one.data
      expect(sold).toBeDefined()
      return settlementFact('HoldRequested', data)
    })
    const terms = { ...registeredOutpoint.terms, capacitySat: '20000' }
    given(settlementDecider, ...older)
      .when(note(HELD_AT, { terms }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, terms }))
  })
  test('is refused for an outpoint that no short channel id can represent', () => {
    const outpoint = OUTPOINT.replace(/:.*/, ':65536')
    expect(given(settlementDecider, ...heldHistory).when(note(HELD_AT, { outpoint })).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { attempt: 1, outpoint, tooLate: false } }],
    })
  })
  test('is refused for a transaction that was in the mempool before the payment was held', () => {
    const times = (enteredMempoolAt: number | null, heldAt: number | null) => ({
      enteredMempoolAt,
      heldSince: { [HASH]: heldAt, ['00'.repeat(32)]: 9000 },
    })
    expect(given(settlementDecider, ...heldHistory).when(note(HELD_AT, times(4999, 5000))).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { attempt: 1, outpoint: OUTPOINT, tooLate: false } }],
    })
    for (const known of [times(5000, 5000), times(null, 5000), times(4999, null)])
      given(settlementDecider, ...heldHistory)
        .when(note(HELD_AT, known))
        .then(outpointRegisteredFact)
  })
  test('starts the window at the first submission, and refuses another submission in its last two blocks', () => {
    const window = { seenBefore: HELD_AT + 6, namedBefore: HELD_AT + 4, publishUntil: HELD_AT + 5 }
    given(settlementDecider, ...heldHistory)
      .when(note(HELD_AT, { fundingSeenBlocks: 6 }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, window }))
    const second = { outpoint: `${'00'.repeat(32)}:0`, outpointNumber: 2 }
    const another = (height: number) => note(height, { ...second, fundingSeenBlocks: 6, window })
    given(settlementDecider, ...registeredHistory)
      .when(another(HELD_AT + 3))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, ...second, window }))
    expect(given(settlementDecider, ...registeredHistory).when(another(HELD_AT + 4)).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { outpoint: second.outpoint, tooLate: false } }],
    })
    // Without a mempool, the window's last blocks are the blocks that a transaction may need to confirm.
    const blind = { seenBefore: HELD_AT + 36, namedBefore: HELD_AT + 30, publishUntil: HELD_AT + 30 }
    given(settlementDecider, ...heldHistory)
      .when(note(HELD_AT, { fundingSeenBlocks: 6, seesMempool: false }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, window: blind }))
  })
  test('is refused once per attempt, and a redelivery does not succeed later', () => {
    const no = settlementFact('OutpointRegistrationRefused', { attempt: 1, outpoint: OUTPOINT, reason: 'x', tooLate: false })
    given(settlementDecider, ...heldHistory, no)
      .when(note(HELD_AT))
      .then()
    given(settlementDecider, no, ...heldHistory)
      .when(note(HELD_AT))
      .then()
    given(settlementDecider, ...heldHistory, no)
      .when(note(HELD_AT, { attempt: 2 }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, attempt: 2 }))
  })
  test('is refused unless a payment is held', () => {
    for (const history of [
      [],
      [holdRequestedFact],
      openHistory,
      [...heldHistory, cancelRequestedFact],
      [...heldHistory, cancelRequestedFact, holdCancelledFact],
    ])
      expect(given(settlementDecider, ...history).when(note(HELD_AT)).decision).toMatchObject({
        facts: [{ type: 'OutpointRegistrationRefused', data: { tooLate: false } }],
      })
    for (const history of [settlingHistory, settledHistory])
      expect(
        given(settlementDecider, ...history).when(note(HELD_AT, { outpoint: `${'00'.repeat(32)}:0` })).decision,
      ).toMatchObject({
        facts: [{ type: 'OutpointRegistrationRefused', data: { tooLate: false } }],
      })
  })
  test('is refused for a transaction that is not younger than the payment', () => {
    for (const confirmedAtHeight of [HELD_AT + 3, null])
      given(settlementDecider, ...heldHistory)
        .when(note(HELD_AT + 2, { confirmedAtHeight }))
        .then(outpointRegisteredFact)
    for (const confirmedAtHeight of [HELD_AT, HELD_AT - 3])
      expect(given(settlementDecider, ...heldHistory).when(note(HELD_AT + 2, { confirmedAtHeight })).decision).toMatchObject({
        facts: [{ type: 'OutpointRegistrationRefused', data: { outpoint: OUTPOINT, tooLate: false } }],
      })
    // The height is checked once, because a re-organisation may have moved the transaction since.
    given(settlementDecider, ...registeredHistory)
      .when(note(HELD_AT + 9, { confirmedAtHeight: HELD_AT, attestation: sampleAttestation }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, attestation: sampleAttestation }))
  })
  test('is refused for a transaction of unknown age that confirmed within two blocks after the payment', () => {
    const confirmed = (confirmedAtHeight: number, enteredMempoolAt: number | null, heldAt: number | null) =>
      given(settlementDecider, ...heldHistory).when(
        note(HELD_AT + 4, { confirmedAtHeight, enteredMempoolAt, heldSince: { [HASH]: heldAt } }),
      ).decision
    for (const height of [HELD_AT + 1, HELD_AT + 2]) {
      for (const [entered, held] of [
        [null, 5000],
        [5001, null],
        [null, null],
      ] as const)
        expect(confirmed(height, entered, held)).toMatchObject({
          facts: [{ type: 'OutpointRegistrationRefused', data: { outpoint: OUTPOINT, tooLate: false } }],
        })
      expect(confirmed(height, 5001, 5000)).toMatchObject({ facts: [outpointRegisteredFact] })
    }
    expect(confirmed(HELD_AT, 5001, 5000)).toMatchObject({ facts: [{ type: 'OutpointRegistrationRefused' }] })
    expect(confirmed(HELD_AT + 3, null, null)).toMatchObject({ facts: [outpointRegisteredFact] })
  })
  test('is refused if the seller would get more than the price without the least platform fee', () => {
    given(settlementDecider, ...heldHistory)
      .when(note(HELD_AT, { sellerAmountMsat: '4820000' }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, sellerAmountMsat: '4820000' }))
    expect(given(settlementDecider, ...heldHistory).when(note(HELD_AT, { sellerAmountMsat: '4820001' })).decision).toMatchObject({
      facts: [{ type: 'OutpointRegistrationRefused', data: { tooLate: false } }],
    })
  })
  test('replaces another outpoint, and adds only an attestation to the same outpoint', () => {
    const other = `${'00'.repeat(32)}:7`
    given(settlementDecider, ...registeredHistory)
      .when(note(HELD_AT, { outpoint: other }))
      .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, outpoint: other }))
    given(settlementDecider, ...registeredHistory)
      .when(note(HELD_AT))
      .then()
    for (const history of [registeredHistory, settlingHistory, settledHistory]) {
      given(settlementDecider, ...history)
        .when(note(E, { attestation: sampleAttestation, sellerAmountMsat: '1' }))
        .then(settlementFact('OutpointRegistered', { ...registeredOutpoint, attestation: sampleAttestation }))
      given(
        settlementDecider,
        ...history,
        settlementFact('OutpointRegistered', { ...registeredOutpoint, attestation: sampleAttestation }),
      )
        .when(note(E, { attestation: sampleAttestation }))
        .then()
      given(
        settlementDecider,
        ...history,
        settlementFact('OutpointRegistered', { ...registeredOutpoint, attestation: sampleAttestation }),
      )
        .when(note(E))
        .then()
    }
  })
})

describe('when submissions arrive out of order', () => {
  const outpoints = [7, 8, 9, 10].map((n) => `${'00'.repeat(32)}:${n}`)
  const submission = (outpointNumber: number, outpoint: string, signed = false) => ({
    ...registeredOutpoint,
    outpointNumber,
    outpoint,
    attestation: signed ? { ...sampleAttestation, outpoint } : null,
  })
  const note = (data: ReturnType<typeof submission>) =>
    ({ type: 'RegisterOutpoint', data: { ...data, height: HELD_AT, ...unseenOutpoint } }) as const
  const [first = '', second = ''] = outpoints

  test('an older submission does not replace a newer submission', () => {
    given(settlementDecider, ...heldHistory, settlementFact('OutpointRegistered', submission(2, second)))
      .when(note(submission(1, first)))
      .then()
  })
  test('a late submission is ignored if the order has meanwhile returned to an earlier outpoint', () => {
    const back = settlementFact('OutpointRegistered', submission(3, first))
    given(settlementDecider, ...heldHistory, settlementFact('OutpointRegistered', submission(1, first)))
      .when(note(submission(3, first)))
      .then(back)
    given(settlementDecider, ...heldHistory, back)
      .when(note(submission(2, second)))
      .then()
    given(settlementDecider, ...heldHistory, back)
      .when(note(submission(1, first, true)))
      .then()
    given(settlementDecider, ...heldHistory, back)
      .when(note(submission(0, first, true)))
      .then(settlementFact('OutpointRegistered', submission(3, first, true)))
  })
  test('the attestation of an earlier submission does not replace a newer attestation', () => {
    const signed = (outpointNumber: number, signature: string) => {
      const data = submission(outpointNumber, first, true)
      return { ...data, attestation: data.attestation && { ...data.attestation, signature } }
    }
    for (const history of [heldHistory, [...heldHistory, settlementFact('OutpointRegistered', submission(2, second))]])
      given(settlementDecider, ...history, settlementFact('OutpointRegistered', signed(3, 'new')))
        .when(note(signed(1, 'old')))
        .then()
    given(settlementDecider, ...heldHistory, settlementFact('OutpointRegistered', signed(3, 'first')))
      .when(note(signed(3, 'second')))
      .then(settlementFact('OutpointRegistered', signed(3, 'second')))
  })
  test('the state hash of a version without submission numbers stays the same', () => {
    const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
    const state = fold(settlementDecider, registeredHistory)
    const before = JSON.parse(
      toCanonicalJson(state)
        .replace(/"outpointNumber":\d+,?/, '')
        .replace('"reachTries":null,', '')
        .replace('"creditor":"seller",', '')
        .replace('"settledCauses":[],', '')
        .replace('"isDecidedForSeller":false,', '')
        .replace('"withheld":{},', '')
        .replace('"missedAtHeight":null,', '')
        .replace('"peerProof":null,', '')
        .replace('"loss":null,', '')
        .replace(',}', '}'),
    ) as unknown
    expect(toCanonicalJson(hashed.projections[1]?.(state))).toBe(toCanonicalJson(before))
    expect(toCanonicalJson(hashed.projections[4]?.(state))).toBe(toCanonicalJson(state))
  })
  test('a submission without a number is accepted', () => {
    given(settlementDecider, ...heldHistory, settlementFact('OutpointRegistered', submission(2, second)))
      .when(note(submission(0, first)))
      .then(settlementFact('OutpointRegistered', submission(0, first)))
  })
  test('the newest submission is recorded in the end, in any order and with repetitions', () => {
    const submissions = fc.array(fc.constantFrom(...outpoints), { minLength: 1, maxLength: 6 }).chain((made) => {
      const all = made.map((outpoint, index) => submission(index + 1, outpoint, index % 2 === 0))
      const repeated = fc.array(fc.constantFrom(...all), { maxLength: 6 })
      return repeated.chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }))
    })
    fc.assert(
      fc.property(submissions, (deliveries) => {
        const recorded = deliveries.reduce((facts: SettlementFact[], data) => {
          const { decision } = given(settlementDecider, ...heldHistory, ...facts).when(note(data))
          return 'facts' in decision ? [...facts, ...decision.facts] : facts
        }, [])
        const { registered: last } = fold(settlementDecider, [...heldHistory, ...recorded]).hold
        const newest = deliveries.reduce((one, other) => (other.outpointNumber > one.outpointNumber ? other : one))
        expect(last).toMatchObject({ outpointNumber: newest.outpointNumber, outpoint: newest.outpoint })
      }),
    )
  })
})

test('a settlement request is recorded once per outpoint, while the payment is held', () => {
  const settle = { type: 'SettleHold', data: { outpoint: OUTPOINT } } as const
  given(settlementDecider, ...registeredHistory)
    .when(settle)
    .then(settlementWantedFact)
  given(settlementDecider, ...registeredHistory, settlementWantedFact)
    .when(settle)
    .then()
  for (const history of [[], openHistory, settlingHistory, settledHistory, [...heldHistory, cancelRequestedFact]])
    given(settlementDecider, ...history)
      .when(settle)
      .then()
})

test('a repeated settlement request for an earlier outpoint does not replace the present request', () => {
  const other = `${'00'.repeat(32)}:7`
  const moved = [
    ...registeredHistory,
    settlementWantedFact,
    settlementFact('OutpointRegistered', { ...registeredOutpoint, outpoint: other, outpointNumber: 2 }),
  ]
  const settle = (outpoint: string) => ({ type: 'SettleHold', data: { outpoint } }) as const
  for (const history of [heldHistory, moved, [...moved, settlementFact('SettlementWanted', { outpoint: other })]])
    given(settlementDecider, ...history)
      .when(settle(OUTPOINT))
      .then()
  given(settlementDecider, ...moved)
    .when(settle(other))
    .then(settlementFact('SettlementWanted', { outpoint: other }))
  // The order returns to the first outpoint, which is recorded again, and repeats its request.
  given(
    settlementDecider,
    ...moved,
    settlementFact('SettlementWanted', { outpoint: other }),
    settlementFact('OutpointRegistered', { ...registeredOutpoint, outpointNumber: 3 }),
  )
    .when(settle(OUTPOINT))
    .then(settlementWantedFact)
})

test('the deadline of the last height requests a proof once', () => {
  const last = { type: 'LastHeight', data: { height: E - 24 } } as const
  const reached = settlementFact('LastHeightReached', { height: E - 24 })
  given(settlementDecider, ...heldHistory)
    .when(last)
    .then(reached)
  given(settlementDecider, ...heldHistory, reached)
    .when(last)
    .then()
  given(settlementDecider, ...heldHistory)
    .when({ type: 'LastHeight', data: { height: E - 25 } })
    .then()
  for (const history of [openHistory, settlingHistory, [...heldHistory, cancelRequestedFact]])
    given(settlementDecider, ...history)
      .when(last)
      .then()
})
