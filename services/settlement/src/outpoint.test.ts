import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SettlementPorts } from './effects/ports.ts'
import { settlementService } from './service.ts'
import { settlement } from './settlement.ts'
import {
  attestation,
  cancelled,
  cancelRequested,
  E,
  fact,
  HASH,
  HELD_AT,
  isNoted,
  noted,
  OUTPOINT,
  requested,
  settleAsked,
  toHeld,
  toNoted,
  toOpen,
  toSettled,
  toSettling,
  unseen,
} from './samples.contract.ts'

describe('noting an outpoint', () => {
  const note = (height: number, change: object = {}) =>
    ({ type: 'NoteOutpoint', data: { ...noted, height, ...unseen, ...change } }) as const
  /** E − 30 − 6 blocks to confirm − 6 confirmations. */
  const last = E - 42
  test('up to the last height at which a broadcast can still be proven', () => {
    given(settlement, ...toHeld)
      .when(note(last))
      .then(isNoted)
    expect(given(settlement, ...toHeld).when(note(last + 1)).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { attempt: 1, outpoint: OUTPOINT, tooLate: true } }],
    })
    const deep = { ...noted.terms, requiredConfirmations: 10 }
    expect(given(settlement, ...toHeld).when(note(last, { terms: deep })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { tooLate: true } }],
    })
    given(settlement, ...toHeld)
      .when(note(last - 4, { terms: deep }))
      .then(fact('OutpointNoted', { ...noted, terms: deep }))
  })
  test('an outpoint that no short channel id can name is refused', () => {
    const outpoint = OUTPOINT.replace(/:.*/, ':65536')
    expect(given(settlement, ...toHeld).when(note(HELD_AT, { outpoint })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { attempt: 1, outpoint, tooLate: false } }],
    })
  })
  test('a transaction that was in the mempool before the payment was held is refused', () => {
    const times = (enteredMempoolAt: number | null, heldAt: number | null) => ({
      enteredMempoolAt,
      heldSince: { [HASH]: heldAt, ['00'.repeat(32)]: 9000 },
    })
    expect(given(settlement, ...toHeld).when(note(HELD_AT, times(4999, 5000))).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { attempt: 1, outpoint: OUTPOINT, tooLate: false } }],
    })
    for (const known of [times(5000, 5000), times(null, 5000), times(4999, null)])
      given(settlement, ...toHeld)
        .when(note(HELD_AT, known))
        .then(isNoted)
  })
  test('the first naming begins the window, and another one is taken before its last two blocks alone', () => {
    const window = { seenBefore: HELD_AT + 6, namedBefore: HELD_AT + 4, publishUntil: HELD_AT + 5 }
    given(settlement, ...toHeld)
      .when(note(HELD_AT, { fundingSeenBlocks: 6 }))
      .then(fact('OutpointNoted', { ...noted, window }))
    const second = { outpoint: `${'00'.repeat(32)}:0`, naming: 2 }
    const another = (height: number) => note(height, { ...second, fundingSeenBlocks: 6, window })
    given(settlement, ...toNoted)
      .when(another(HELD_AT + 3))
      .then(fact('OutpointNoted', { ...noted, ...second, window }))
    expect(given(settlement, ...toNoted).when(another(HELD_AT + 4)).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { outpoint: second.outpoint, tooLate: false } }],
    })
    // Without a mempool: its last blocks are those that a transaction may take to confirm.
    const blind = { seenBefore: HELD_AT + 36, namedBefore: HELD_AT + 30, publishUntil: HELD_AT + 30 }
    given(settlement, ...toHeld)
      .when(note(HELD_AT, { fundingSeenBlocks: 6, seesMempool: false }))
      .then(fact('OutpointNoted', { ...noted, window: blind }))
  })
  test('a refusal is answered once, and a redelivery does not succeed tomorrow', () => {
    const no = fact('OutpointNoteRefused', { attempt: 1, outpoint: OUTPOINT, reason: 'x', tooLate: false })
    given(settlement, ...toHeld, no)
      .when(note(HELD_AT))
      .then()
    given(settlement, no, ...toHeld)
      .when(note(HELD_AT))
      .then()
    given(settlement, ...toHeld, no)
      .when(note(HELD_AT, { attempt: 2 }))
      .then(fact('OutpointNoted', { ...noted, attempt: 2 }))
  })
  test('only while a payment is held', () => {
    for (const history of [[], [requested], toOpen, [...toHeld, cancelRequested], [...toHeld, cancelRequested, cancelled]])
      expect(given(settlement, ...history).when(note(HELD_AT)).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused', data: { tooLate: false } }],
      })
    for (const history of [toSettling, toSettled])
      expect(given(settlement, ...history).when(note(HELD_AT, { outpoint: `${'00'.repeat(32)}:0` })).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused', data: { tooLate: false } }],
      })
  })
  test('only where the transaction is younger than the payment', () => {
    for (const confirmedAtHeight of [HELD_AT + 1, null])
      given(settlement, ...toHeld)
        .when(note(HELD_AT + 2, { confirmedAtHeight }))
        .then(isNoted)
    for (const confirmedAtHeight of [HELD_AT, HELD_AT - 3])
      expect(given(settlement, ...toHeld).when(note(HELD_AT + 2, { confirmedAtHeight })).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused', data: { outpoint: OUTPOINT, tooLate: false } }],
      })
    // Decided once: a re-organisation may have moved it since.
    given(settlement, ...toNoted)
      .when(note(HELD_AT + 9, { confirmedAtHeight: HELD_AT, attestation }))
      .then(fact('OutpointNoted', { ...noted, attestation }))
  })
  test('a seller never gets more than the buyer paid', () => {
    given(settlement, ...toHeld)
      .when(note(HELD_AT, { sellerAmountMsat: '4820000' }))
      .then(fact('OutpointNoted', { ...noted, sellerAmountMsat: '4820000' }))
    expect(given(settlement, ...toHeld).when(note(HELD_AT, { sellerAmountMsat: '4820001' })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { tooLate: false } }],
    })
  })
  test('another outpoint takes its place, the same one brings only an attestation', () => {
    const other = `${'00'.repeat(32)}:7`
    given(settlement, ...toNoted)
      .when(note(HELD_AT, { outpoint: other }))
      .then(fact('OutpointNoted', { ...noted, outpoint: other }))
    given(settlement, ...toNoted)
      .when(note(HELD_AT))
      .then()
    for (const history of [toNoted, toSettling, toSettled]) {
      given(settlement, ...history)
        .when(note(E, { attestation, sellerAmountMsat: '1' }))
        .then(fact('OutpointNoted', { ...noted, attestation }))
      given(settlement, ...history, fact('OutpointNoted', { ...noted, attestation }))
        .when(note(E, { attestation }))
        .then()
      given(settlement, ...history, fact('OutpointNoted', { ...noted, attestation }))
        .when(note(E))
        .then()
    }
  })
})

describe('namings that come in another order than they were made', () => {
  const outpoints = [7, 8, 9, 10].map((n) => `${'00'.repeat(32)}:${n}`)
  const named = (naming: number, outpoint: string, signed = false) => ({
    ...noted,
    naming,
    outpoint,
    attestation: signed ? { ...attestation, outpoint } : null,
  })
  const note = (data: ReturnType<typeof named>) =>
    ({ type: 'NoteOutpoint', data: { ...data, height: HELD_AT, ...unseen } }) as const
  const [first = '', second = ''] = outpoints

  test('an older one does not take the place of a newer one', () => {
    given(settlement, ...toHeld, fact('OutpointNoted', named(2, second)))
      .when(note(named(1, first)))
      .then()
  })
  test('the order comes back to an outpoint, and what was named in between comes late', () => {
    const back = fact('OutpointNoted', named(3, first))
    given(settlement, ...toHeld, fact('OutpointNoted', named(1, first)))
      .when(note(named(3, first)))
      .then(back)
    given(settlement, ...toHeld, back)
      .when(note(named(2, second)))
      .then()
    given(settlement, ...toHeld, back)
      .when(note(named(1, first, true)))
      .then()
    given(settlement, ...toHeld, back)
      .when(note(named(0, first, true)))
      .then(fact('OutpointNoted', named(3, first, true)))
  })
  test('the attestation of an earlier naming does not take the place of the newer one', () => {
    const signed = (naming: number, signature: string) => {
      const data = named(naming, first, true)
      return { ...data, attestation: data.attestation && { ...data.attestation, signature } }
    }
    for (const history of [toHeld, [...toHeld, fact('OutpointNoted', named(2, second))]])
      given(settlement, ...history, fact('OutpointNoted', signed(3, 'new')))
        .when(note(signed(1, 'old')))
        .then()
    given(settlement, ...toHeld, fact('OutpointNoted', signed(3, 'first')))
      .when(note(signed(3, 'second')))
      .then(fact('OutpointNoted', signed(3, 'second')))
  })
  test('a state from before they were counted has the hash that it had', () => {
    const [{ hashed }] = settlementService().aggregates as [Aggregate<SettlementPorts>]
    const state = fold(settlement, toNoted)
    const before = JSON.parse(
      canonical(state)
        .replace(/"naming":\d+,?/, '')
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
    expect(canonical(hashed.of[1]?.(state))).toBe(canonical(before))
    expect(canonical(hashed.of[4]?.(state))).toBe(canonical(state))
  })
  test('a version that did not count is believed', () => {
    given(settlement, ...toHeld, fact('OutpointNoted', named(2, second)))
      .when(note(named(0, first)))
      .then(fact('OutpointNoted', named(0, first)))
  })
  test('whatever comes in whatever order, however often: the newest is noted in the end', () => {
    const namings = fc.array(fc.constantFrom(...outpoints), { minLength: 1, maxLength: 6 }).chain((made) => {
      const all = made.map((outpoint, index) => named(index + 1, outpoint, index % 2 === 0))
      const repeated = fc.array(fc.constantFrom(...all), { maxLength: 6 })
      return repeated.chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }))
    })
    fc.assert(
      fc.property(namings, (deliveries) => {
        const told = deliveries.reduce((facts: SettlementFact[], data) => {
          const { decision } = given(settlement, ...toHeld, ...facts).when(note(data))
          return 'facts' in decision ? [...facts, ...decision.facts] : facts
        }, [])
        const { noted: last } = fold(settlement, [...toHeld, ...told]).hold
        const newest = deliveries.reduce((one, other) => (other.naming > one.naming ? other : one))
        expect(last).toMatchObject({ naming: newest.naming, outpoint: newest.outpoint })
      }),
    )
  })
})

test('the wish to settle is kept once per outpoint, while the payment is held', () => {
  const settle = { type: 'SettleHold', data: { outpoint: OUTPOINT } } as const
  given(settlement, ...toNoted)
    .when(settle)
    .then(settleAsked)
  given(settlement, ...toNoted, settleAsked)
    .when(settle)
    .then()
  for (const history of [[], toOpen, toSettling, toSettled, [...toHeld, cancelRequested]])
    given(settlement, ...history)
      .when(settle)
      .then()
})

test('a wish to settle for an earlier outpoint that comes once more does not take the place of the present one', () => {
  const other = `${'00'.repeat(32)}:7`
  const moved = [...toNoted, settleAsked, fact('OutpointNoted', { ...noted, outpoint: other, naming: 2 })]
  const settle = (outpoint: string) => ({ type: 'SettleHold', data: { outpoint } }) as const
  for (const history of [toHeld, moved, [...moved, fact('SettleAsked', { outpoint: other })]])
    given(settlement, ...history)
      .when(settle(OUTPOINT))
      .then()
  given(settlement, ...moved)
    .when(settle(other))
    .then(fact('SettleAsked', { outpoint: other }))
  // The order goes back to the first, which is then noted again, and asks anew.
  given(settlement, ...moved, fact('SettleAsked', { outpoint: other }), fact('OutpointNoted', { ...noted, naming: 3 }))
    .when(settle(OUTPOINT))
    .then(settleAsked)
})

test('the timer of the last height asks for a proof once', () => {
  const last = { type: 'LastHeight', data: { height: E - 24 } } as const
  const reached = fact('LastHeightReached', { height: E - 24 })
  given(settlement, ...toHeld)
    .when(last)
    .then(reached)
  given(settlement, ...toHeld, reached)
    .when(last)
    .then()
  given(settlement, ...toHeld)
    .when({ type: 'LastHeight', data: { height: E - 25 } })
    .then()
  for (const history of [toOpen, toSettling, [...toHeld, cancelRequested]])
    given(settlement, ...history)
      .when(last)
      .then()
})
