import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { given } from '@penstock/testkit/given.ts'
import { attestationOf, candidateOf, orderTermsOf, outpointOf } from '@penstock/testkit/order-terms.ts'
import { describe, test } from 'vitest'
import { fact } from './fact.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'
import { asked, claimed, held, issued, named, offered, standing, started } from './samples.contract.ts'
import { channelTerms, confirmationsNeeded, holdTerms, need, openBeforeHeight } from './terms.ts'

const id = '00000000-0000-4000-8000-0000000000aa'
const [one, two] = [outpointOf(1), outpointOf(2)]
const terms = orderTermsOf()

/** What is asked after these facts: `receiver: command (step/attempt)`, and deadlines by their step. */
const asks = (...facts: readonly OrderFact[]): readonly string[] =>
  fulfilment(fold(order, facts), id).map((next) =>
    next.kind === 'command'
      ? `${next.category}: ${next.command.type} (${next.step}/${next.attempt})`
      : `${next.kind}: ${next.step}`,
  )

const opened = [...named, fact('ChannelOpened', { outpoint: one, confirmations: 3 })]
const told = (what: Extract<OrderFact, { type: 'Told' }>['data']['what'], key: string) => fact('Told', { what, key })

test('the way to a valid channel, question by question', () => {
  const manual = fact('OrderPlaced', { ...orderTermsOf(true), approveBefore: 1000 })
  assert.deepEqual(asks(manual), ['deadline: lapse-approval'])
  assert.deepEqual(asks(...standing), ['settlement: IssueHold (issue-hold/1)'])
  assert.deepEqual(asks(...issued), [])
  assert.deepEqual(asks(...held), ['match: FindSeller (find-seller-1/1)'])
  assert.deepEqual(asks(...started), ['settlement: CheckReach (check-reach-1/1)'])
  assert.deepEqual(asks(...asked), ['deadline: lapse-opening-1-0'])
  assert.deepEqual(asks(...offered), ['outpoint: ClaimOutpoint (claim-1/1)'])
  assert.deepEqual(asks(...claimed), ['settlement: NoteOutpoint (note-outpoint-1/1)'])
  assert.deepEqual(asks(...named), ['channel: WatchOutpoint (watch-1/1)'])
  const watched = told('watch-started', one)
  assert.deepEqual(asks(...named, watched), [])
  assert.deepEqual(asks(...opened, watched), ['settlement: SettleHold (settle-hold/1)'])
  const settling = [...opened, watched, fact('SettlingStarted', { outpoint: one, lastHeight: false })]
  assert.deepEqual(asks(...settling), [])
  const valid = [...settling, fact('OrderValid', { settledAt: 1 })]
  assert.deepEqual(asks(...valid), ['match: UseMatch (use-match-1/1)', 'channel: StartLease (start-lease/1)'])
  assert.deepEqual(asks(...valid, told('match-used', '1'), told('lease-started', one)), [])
})

test('a re-org asks to settle once more, under another number', () => {
  const again = [
    fact('FundingReorged', { outpoint: one }),
    fact('FundingConfirmed', { outpoint: one, height: 9, channelId: '9x1x0' }),
  ]
  const back = asks(...opened, ...again, fact('ChannelOpened', { outpoint: one, confirmations: 3 }))
  assert.ok(back.includes('settlement: SettleHold (settle-hold/2)'), back.join())
})

test('an attestation that comes later is told to settlement and to the watcher', () => {
  const attestation = attestationOf(one)
  const attested = [...named, told('watch-started', one), fact('AttestationGiven', { attempt: 1, outpoint: one, attestation })]
  const later = asks(...attested)
  assert.deepEqual(later, ['channel: KeepAttestation (keep-attestation-1/1)', 'settlement: NoteOutpoint (note-outpoint-1/2)'])
  const [keep] = fulfilment(fold(order, attested), id)
  assert.ok(keep?.kind === 'command')
  assert.deepEqual(keep.command.data, { outpoint: one, attestation, naming: 1 })
})

test('a seller that fails is released while the next is looked for', () => {
  const failed = [...asked, fact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true })]
  assert.deepEqual(asks(...failed), ['match: FindSeller (find-seller-2/1)', 'match: ReleaseMatch (release-match-1/1)'])
  const late = fact('LateOutpointOffered', { attempt: 1, outpoint: one, attestation: null })
  assert.deepEqual(asks(...failed, told('match-released', '1'), late), [
    'match: FindSeller (find-seller-2/1)',
    'match: Rereserve (rereserve-1/1)',
  ])
  // refused at the claim: the capacity that was reserved again is given back again
  const refused = fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' })
  assert.deepEqual(
    asks(...failed, told('match-released', '1'), late, fact('CapacityRereserved', { attempt: 1, outpoint: one }), refused),
    ['match: FindSeller (find-seller-2/1)', 'match: ReleaseMatch (release-match-1/2)'],
  )
})

describe('a seller whose capacity is reserved again', () => {
  const failed = [...asked, fact('AttemptFailed', { attempt: 1, reason: 'late', blamed: true })]
  const late = fact('LateOutpointOffered', { attempt: 1, outpoint: one, attestation: null })
  const again = [...failed, told('match-released', '1'), late]
  const over = [
    ...again,
    fact('CapacityRereserved', { attempt: 1, outpoint: one }),
    fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' }),
  ]
  const question = (history: readonly OrderFact[], type: string): unknown =>
    fulfilment(fold(order, history), id).flatMap((step) =>
      step.kind === 'command' && step.command.type === type ? [(step.command.data as { question?: number }).question] : [],
    )[0]
  const answer = (number?: number) =>
    ({
      type: 'RecordTold',
      data: { what: 'match-released', key: '1', ...(number !== undefined && { question: number }) },
    }) as const

  test('is asked for after the release before, and released by a question of its own', () => {
    assert.equal(question(failed, 'ReleaseMatch'), 1)
    assert.equal(question(again, 'Rereserve'), 1)
    assert.equal(question(over, 'ReleaseMatch'), 2)
    const second = [
      ...over,
      told('match-released', '1'),
      fact('LateOutpointOffered', { attempt: 1, outpoint: two, attestation: null }),
    ]
    assert.equal(question(second, 'Rereserve'), 2)
  })

  test('is not given back because an earlier release was answered once more', () => {
    given(order, ...over)
      .when(answer(1))
      .then()
    // What was told by a version that did not say which question it answers is believed.
    for (const number of [2, undefined])
      given(order, ...over)
        .when(answer(number))
        .then(told('match-released', '1'))
    given(order, ...failed)
      .when(answer(1))
      .then(told('match-released', '1'))
  })
})

test("a seller that cannot connect: our own node tries the buyer's once more, and the window waits for it", () => {
  const reported = [...asked, fact('UnreachableReported', { attempt: 1, reason: 'x' })]
  assert.deepEqual(asks(...reported), ['settlement: CheckReach (check-reach-2/1)'])
  const next = [
    ...reported,
    fact('AttemptFailed', { attempt: 1, reason: 'x', blamed: true }),
    fact('AttemptStarted', { attempt: 2, candidate: candidateOf(2) }),
  ]
  assert.deepEqual(asks(...next), ['settlement: CheckReach (check-reach-3/1)', 'match: ReleaseMatch (release-match-1/1)'])
  const opens = fact('OutpointOffered', { attempt: 1, outpoint: one, attestation: null })
  assert.deepEqual(asks(...reported, opens), ['outpoint: ClaimOutpoint (claim-1/1)'])
  const refused = fact('OutpointRefused', { attempt: 1, outpoint: one, reason: 'no' })
  assert.deepEqual(asks(...reported, opens, refused), ['deadline: lapse-opening-1-1'])
})

test('a match that was given back while the order was closing is used all the same', () => {
  const closing = fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' })
  const settled = [
    ...opened,
    told('watch-started', one),
    closing,
    told('match-released', '1'),
    fact('SettlingStarted', { outpoint: one, lastHeight: false }),
    fact('OrderValid', { settledAt: 1 }),
    told('lease-started', one),
  ]
  assert.deepEqual(asks(...settled), ['match: UseMatch (use-match-1/1)'])
  assert.deepEqual(asks(...settled, told('match-used', '1')), [])
})

test('the watcher is told what the seller promised to take at most', () => {
  const [watch] = fulfilment(fold(order, named), id)
  assert.ok(watch?.kind === 'command')
  assert.deepEqual((watch.command.data as { feeCaps?: object }).feeCaps, { baseFeeCapSat: '1000', feeRateCapPpm: 500 })
})

test('closing asks for the cancellation alone; the end tells whoever still has something', () => {
  const closing = [
    ...named,
    told('watch-started', one),
    fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
  ]
  assert.deepEqual(asks(...closing), ['settlement: CancelHold (cancel-hold/1)'])
  const [cancel] = fulfilment(fold(order, closing), id)
  assert.ok(cancel?.kind === 'command')
  assert.deepEqual(cancel.command.data, { sentence: 'x', byOperator: true })
  const ended = [...closing, fact('AdminClosed', { by: 'ops', reason: 'x' })]
  assert.deepEqual(asks(...ended), ['match: ReleaseMatch (release-match-1/1)', 'channel: StopWatch (stop-watch/1)'])
  assert.deepEqual(asks(...ended, told('match-released', '1'), told('watch-stopped', '1')), [])
})

test('a search that still goes on when the order closes is given back too', () => {
  const closing = [...held, fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' })]
  assert.deepEqual(asks(...closing), ['settlement: CancelHold (cancel-hold/1)', 'match: ReleaseMatch (release-match-1/1)'])
})

test('what settlement takes closes no more', () => {
  const outrun = [
    ...opened,
    fact('ReleaseRequested', { to: 'ADMIN_CLOSED', reason: 'x', blamed: false, by: 'ops' }),
    fact('SettlingStarted', { outpoint: one, lastHeight: false }),
  ]
  assert.deepEqual(asks(...outrun), ['channel: WatchOutpoint (watch-1/1)'])
})

test('an order that ends before its invoice came has it cancelled', () => {
  assert.deepEqual(asks(...standing, fact('BuyerRejected', { reason: 'x' })), ['settlement: CancelHold (cancel-hold/1)'])
})

test('heights and needs follow from the terms', () => {
  // 250 - (30 to spare + 6 to confirm + 6 confirmations at least)
  assert.equal(openBeforeHeight(terms, 250), 208)
  assert.equal(openBeforeHeight({ ...terms, requiredConfirmations: 10 }, 250), 204)
  assert.equal(openBeforeHeight(terms, 20), 0)
  assert.equal(confirmationsNeeded({ ...terms, requiredConfirmations: 1 }), 3)
  assert.equal(holdTerms(terms).amountMsat, '3000000')
  assert.equal(need(terms).sellerBudgetMsat, '2900000')
  assert.equal(need({ ...terms, isPrivate: true }).railsOnly, true)
  assert.equal(need({ ...terms, source: 'lsps1-recommended' }).ranking, 'recommended')
  assert.equal(channelTerms(terms, candidateOf(1), 100).requiredConfirmations, 3)
})
