import { given } from '@penstock/testkit/given.ts'
import { describe, expect, test } from 'vitest'
import { settlement } from './settlement.ts'
import {
  attestation,
  cancelled,
  cancelRequested,
  E,
  fact,
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
} from './samples.contract.ts'

describe('noting an outpoint', () => {
  const note = (height: number, change: object = {}) =>
    ({ type: 'NoteOutpoint', data: { ...noted, height, confirmedAtHeight: null, ...change } }) as const
  /** E − 30 − 6 blocks to confirm − 6 confirmations. */
  const last = E - 42
  test('up to the last height at which a broadcast can still be proven', () => {
    given(settlement, ...toHeld)
      .when(note(last))
      .then(isNoted)
    expect(given(settlement, ...toHeld).when(note(last + 1)).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused', data: { attempt: 1, outpoint: OUTPOINT } }],
    })
    const deep = { ...noted.terms, requiredConfirmations: 10 }
    expect(given(settlement, ...toHeld).when(note(last, { terms: deep })).decision).toMatchObject({
      facts: [{ type: 'OutpointNoteRefused' }],
    })
    given(settlement, ...toHeld)
      .when(note(last - 4, { terms: deep }))
      .then(fact('OutpointNoted', { ...noted, terms: deep }))
  })
  test('a refusal is answered once, and a redelivery does not succeed tomorrow', () => {
    const no = fact('OutpointNoteRefused', { attempt: 1, outpoint: OUTPOINT, reason: 'x' })
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
        facts: [{ type: 'OutpointNoteRefused' }],
      })
    for (const history of [toSettling, toSettled])
      expect(given(settlement, ...history).when(note(HELD_AT, { outpoint: `${'00'.repeat(32)}:0` })).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused' }],
      })
  })
  test('only where the transaction is younger than the payment', () => {
    for (const confirmedAtHeight of [HELD_AT + 1, null])
      given(settlement, ...toHeld)
        .when(note(HELD_AT + 2, { confirmedAtHeight }))
        .then(isNoted)
    for (const confirmedAtHeight of [HELD_AT, HELD_AT - 3])
      expect(given(settlement, ...toHeld).when(note(HELD_AT + 2, { confirmedAtHeight })).decision).toMatchObject({
        facts: [{ type: 'OutpointNoteRefused', data: { outpoint: OUTPOINT } }],
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
      facts: [{ type: 'OutpointNoteRefused' }],
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
