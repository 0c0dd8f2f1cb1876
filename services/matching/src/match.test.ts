import { pubkeyFor, uuidFor } from '@penstock/testkit/book-entries.ts'
import assert from 'node:assert/strict'
import type { MatchFact, OrderRequirements } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchDecider, type EnrichedMatchCommand } from './match.decide.ts'
import { matchProcess } from './match.process.ts'

const order = uuidFor(99)
const promises = {
  baseFeeSat: '1',
  feeRatePpm: 1,
  baseFeeCapSat: '1',
  feeRateCapPpm: 1,
  minBlockLength: 1,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}
const candidate = (n: number): Candidate => ({
  offerId: uuidFor(n),
  sellerPubkey: pubkeyFor(n),
  sellerAccountId: uuidFor(n),
  rails: false,
  sellerAmountMsat: '1',
  promises,
})
const need: OrderRequirements = {
  sizeSat: '1000000',
  destination: { pubkey: pubkeyFor(50), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 10,
  sellerBudgetMsat: '5000',
  ranking: 'cheapest',
}
const [a, b] = [candidate(1), candidate(2)]
const reservationOf = (c: Candidate, round = 0) => ({ offerId: c.offerId, sellerPubkey: c.sellerPubkey, round })

/** A search records the funding fees, so that the amount of a seller can be recomputed. */
const fundingFees = { LOW: '154', MEDIUM: '308', HIGH: '616' }

const find = (attempt: number, ...candidates: Candidate[]): CommandBody<EnrichedMatchCommand> => ({
  type: 'FindSeller',
  data: { attempt, need, first: a, only: false, autoAccepted: true, tried: [], candidates, fundingFees },
})
const searchBegun = (attempt: number, ...candidates: Candidate[]): MatchFact => ({
  type: 'SearchBegun',
  v: 2,
  data: { attempt, need, autoAccepted: true, candidates, fundingFees },
})
const answer = (c: Candidate, granted: boolean, attempt = 1, round = 0): CommandBody<EnrichedMatchCommand> => ({
  type: 'RecordReservation',
  data: { attempt, round, offerId: c.offerId, granted, reason: granted ? null : 'sold out' },
})
const lost = (c: Candidate): MatchFact => ({
  type: 'CandidateLost',
  v: 1,
  data: { attempt: 1, offerId: c.offerId, reason: 'sold out' },
})
const matched = (c: Candidate, attempt = 1): MatchFact => ({ type: 'Matched', v: 1, data: { attempt, candidate: c } })
const unmatched: MatchFact = { type: 'Unmatched', v: 1, data: { attempt: 1, reason: 'No seller can serve this order now.' } }
const release: CommandBody<EnrichedMatchCommand> = {
  type: 'ReleaseMatch',
  data: { attempt: 1, requestNumber: 1, reason: 'over' },
}
const secondRelease: CommandBody<EnrichedMatchCommand> = {
  type: 'ReleaseMatch',
  data: { attempt: 1, requestNumber: 2, reason: 'over' },
}
const released = (c: Candidate | null, round = 0, requestNumber = 1): MatchFact => ({
  type: 'MatchReleased',
  v: 1,
  data: { attempt: 1, requestNumber, asked: c && reservationOf(c, round), reason: 'over' },
})
const renew: CommandBody<EnrichedMatchCommand> = { type: 'RenewReservation', data: { attempt: 1, requestNumber: 1 } }
const renewal = (round = 1): MatchFact => ({
  type: 'ReservationRenewalRequested',
  v: 2,
  data: { attempt: 1, round, requestNumber: 1 },
})
const reservationRenewed: MatchFact = { type: 'ReservationRenewed', v: 2, data: { attempt: 1, requestNumber: 1 } }
const renewalRefused = (reason: string): MatchFact => ({ type: 'ReservationRenewalRefused', v: 1, data: { attempt: 1, reason } })
const use: CommandBody<EnrichedMatchCommand> = { type: 'UseMatch', data: { attempt: 1 } }
const used: MatchFact = { type: 'MatchUsed', v: 1, data: { attempt: 1, asked: reservationOf(a) } }

test('candidates are requested one after the other until one has the capacity', () => {
  given(matchDecider)
    .when(find(1, a, b))
    .then(searchBegun(1, a, b))
  given(matchDecider, searchBegun(1, a, b))
    .when(find(1, b))
    .then()
  given(matchDecider, searchBegun(1, a, b))
    .when(answer(a, true))
    .then(matched(a))
  given(matchDecider, searchBegun(1, a, b))
    .when(answer(a, false))
    .then(lost(a))
  given(matchDecider, searchBegun(1, a, b), lost(a))
    .when(answer(a, false))
    .then()
  given(matchDecider, searchBegun(1, a, b), lost(a))
    .when(answer(b, true))
    .then(matched(b))
})

test('a search without further candidates records Unmatched', () => {
  given(matchDecider).when(find(1)).then(searchBegun(1), unmatched)
  given(matchDecider, searchBegun(1, a)).when(answer(a, false)).then(lost(a), unmatched)
  given(matchDecider, searchBegun(1, a), lost(a), unmatched).when(release).then(released(null))
  given(matchDecider, searchBegun(1, a), lost(a), unmatched).when(renew).then(renewalRefused('No seller had this attempt.'))
})

test('a match is released or used once, and late commands change nothing', () => {
  given(matchDecider, searchBegun(1, a), matched(a)).when(release).then(released(a))
  given(matchDecider, searchBegun(1, a), matched(a)).when(use).then(used)
  given(matchDecider, searchBegun(1, a), matched(a), used).when(use).then()
  given(matchDecider, searchBegun(1, a), matched(a), used).when(release).then()
  given(matchDecider, searchBegun(1, a, b))
    .when(release)
    .then(released(a))
  given(matchDecider, searchBegun(1, a, b), released(a))
    .when(answer(a, true))
    .then()
  given(matchDecider, searchBegun(1, a, b), released(a))
    .when(use)
    .then(used)
  given(matchDecider, searchBegun(1, a, b), released(a), used)
    .when(use)
    .then()
  given(matchDecider).when(use).refuses('NOT_RESERVED')
  given(matchDecider).when(release).then(released(null))
  given(matchDecider, released(null)).when(find(1, a)).then()
  given(matchDecider, released(null)).when(renew).then(renewalRefused('No seller had this attempt.'))
})

test('a renewal requests the capacity of a replaced seller in a new round', () => {
  const replaced = [searchBegun(1, a), matched(a), released(a)]
  given(matchDecider, ...replaced)
    .when(renew)
    .then(renewal())
  given(matchDecider, ...replaced, renewal())
    .when(renew)
    .then()
  given(matchDecider, ...replaced, renewal())
    .when(answer(a, true))
    .then() // an answer of the first round
  given(matchDecider, ...replaced, renewal())
    .when(answer(a, true, 1, 1))
    .then(reservationRenewed)
  given(matchDecider, ...replaced, renewal())
    .when(answer(a, false, 1, 1))
    .then(renewalRefused('sold out'))
  given(matchDecider, ...replaced, renewal())
    .when(secondRelease)
    .then(released(a, 1, 2))
  // A second release is answered once, although the capacity was never reserved again.
  given(matchDecider, ...replaced)
    .when(release)
    .then()
  given(matchDecider, ...replaced)
    .when(secondRelease)
    .then(released(null, 0, 2))
  given(matchDecider, ...replaced, released(null, 0, 2))
    .when(secondRelease)
    .then()
  // The first release request arrives again after the renewal.
  given(matchDecider, ...replaced, renewal(), reservationRenewed)
    .when(release)
    .then()
  given(matchDecider, ...replaced, renewal(), reservationRenewed)
    .when(renew)
    .then(reservationRenewed)
  given(matchDecider, ...replaced, renewal(), reservationRenewed)
    .when(use)
    .then({ type: 'MatchUsed', v: 1, data: { attempt: 1, asked: reservationOf(a, 1) } })
  given(matchDecider, ...replaced, renewal(), renewalRefused('sold out'))
    .when(renew)
    .then(renewal(2))
  given(matchDecider, searchBegun(1, a), matched(a)).when(renew).then(reservationRenewed) // never released
  given(matchDecider).when(renew).then(renewalRefused('No seller had this attempt.'))
})

describe('when a renewal and a release cross each other', () => {
  const renewAfter = (requestNumber: number): CommandBody<EnrichedMatchCommand> => ({
    type: 'RenewReservation',
    data: { attempt: 1, requestNumber },
  })
  const granted = (requestNumber: number): MatchFact => ({
    type: 'ReservationRenewed',
    v: 2,
    data: { attempt: 1, requestNumber },
  })

  test('a release from before the renewal does not release the renewed capacity', () => {
    given(matchDecider, searchBegun(1, a), matched(a)).when(renewAfter(1)).then(granted(1))
    given(matchDecider, searchBegun(1, a), matched(a), granted(1)).when(release).then()
    given(matchDecider, searchBegun(1, a), matched(a), granted(1))
      .when(secondRelease)
      .then(released(a, 0, 2))
    given(matchDecider, searchBegun(1, a), matched(a), released(a), renewal()).when(release).then()
    const second: MatchFact = { type: 'ReservationRenewalRequested', v: 2, data: { attempt: 1, round: 1, requestNumber: 2 } }
    given(matchDecider, searchBegun(1, a), matched(a), released(a), second).when(secondRelease).then()
  })

  test('a renewal from before an answered release reserves nothing', () => {
    const over = [searchBegun(1, a), matched(a), released(a, 0, 2)]
    given(matchDecider, ...over)
      .when(renewAfter(1))
      .then()
    given(matchDecider, ...over)
      .when(renewAfter(2))
      .then({ type: 'ReservationRenewalRequested', v: 2, data: { attempt: 1, round: 1, requestNumber: 2 } })
  })

  test('a renewal without a number is accepted, and does not make a release void', () => {
    given(matchDecider, searchBegun(1, a), matched(a), released(a, 0, 2))
      .when(renewAfter(0))
      .then({ type: 'ReservationRenewalRequested', v: 2, data: { attempt: 1, round: 1, requestNumber: 0 } })
    given(matchDecider, searchBegun(1, a), matched(a)).when(renewAfter(0)).then(granted(0))
    given(matchDecider, searchBegun(1, a), matched(a), granted(0)).when(release).then(released(a))
  })
})

test('the process requests capacity only during a search or a renewal', () => {
  const steps = (...facts: MatchFact[]) => matchProcess(fold(matchDecider, facts), order)
  expect(steps(searchBegun(1, a, b))).toEqual([
    {
      kind: 'command',
      category: 'offer',
      id: a.offerId,
      step: `reserve/1/0/${a.offerId}`,
      attempt: 1,
      command: {
        type: 'Reserve',
        data: { orderId: order, attempt: 1, round: 0, sizeSat: '1000000', candidate: a, isPrivate: false, autoAccepted: true },
      },
    },
  ])
  expect(steps(searchBegun(1, a, b), lost(a))).toMatchObject([{ id: b.offerId }])
  expect(steps(searchBegun(1, a), matched(a), released(a), renewal())).toMatchObject([{ step: `reserve/1/1/${a.offerId}` }])
  for (const over of [[matched(a)], [matched(a), used], [released(a)], [lost(a), unmatched]])
    expect(steps(searchBegun(1, a), ...over)).toEqual([])
})

test('outcomes are recorded for the seller of the attempt, and an attempt fails once', () => {
  const note = (
    outcome: Extract<MatchFact, { type: 'AttemptOutcomeRecorded' }>['data']['outcome'],
    attempt: number | null = null,
  ) => ({ type: 'RecordAttemptOutcome', data: { attempt, outcome } }) as const
  const outcomeRecorded = (outcome: ReturnType<typeof note>['data']['outcome'], c = a, attempt = 1): MatchFact => ({
    type: 'AttemptOutcomeRecorded',
    v: 1,
    data: { attempt, sellerPubkey: c.sellerPubkey, outcome },
  })
  const shown: MatchFact = { type: 'SellerQuoted', v: 1, data: { candidate: a } }
  const second = [searchBegun(1, a), matched(a), searchBegun(2, b), matched(b, 2)]
  // The renewal and the release for a late outpoint of the first seller do not affect the second seller.
  given(matchDecider, ...second, released(a), renewal(), reservationRenewed, released(a, 1, 2))
    .when(note('failed-to-send', 2))
    .then(outcomeRecorded('failed-to-send', b, 2))
  given(matchDecider, searchBegun(1, a), matched(a), used, outcomeRecorded('lease-kept'))
    .when(note('promise-broken', 1))
    .then(outcomeRecorded('promise-broken'))
  given(matchDecider, searchBegun(1, a), matched(a), used, outcomeRecorded('lease-kept'), outcomeRecorded('promise-broken'))
    .when(note('promise-broken', 1))
    .then()
  given(matchDecider, ...second)
    .when(note('failed-to-open', 1))
    .then(outcomeRecorded('failed-to-open'))
  given(matchDecider, ...second, outcomeRecorded('failed-to-open'))
    .when(note('failed-to-open', 1))
    .then()
  given(matchDecider, ...second, outcomeRecorded('failed-to-open'))
    .when(note('invalid', 2))
    .then(outcomeRecorded('invalid', b, 2))
  given(matchDecider, ...second, outcomeRecorded('failed-to-send', b, 2))
    .when(note('invalid', 2))
    .then()
  given(matchDecider, searchBegun(1, a), matched(a), used).when(note('lease-kept', 1)).then(outcomeRecorded('lease-kept'))
  given(matchDecider, searchBegun(1, a), matched(a)).when(note('rejected')).then() // a lack of capacity
  given(matchDecider)
    .when({ type: 'RecordSellerQuoted', data: { candidate: a } })
    .then(shown)
  given(matchDecider, shown)
    .when({ type: 'RecordSellerQuoted', data: { candidate: a } })
    .then()
  given(matchDecider, shown).when(note('rejected')).then(outcomeRecorded('rejected'))
  given(matchDecider, shown).when(note('no-reaction')).then(outcomeRecorded('no-reaction'))
  given(matchDecider).when(note('no-reaction')).then()
  given(matchDecider, shown).when(note('failed-to-open')).then()
})

test('commands in any order fold, and a repeated command adds nothing', () => {
  const some = fc.constantFrom<CommandBody<EnrichedMatchCommand>>(
    find(1, a, b),
    find(2, b),
    answer(a, true),
    answer(a, false),
    answer(b, true),
    answer(a, true, 1, 1),
    answer(a, false, 1, 1),
    answer(b, true, 2),
    release,
    secondRelease,
    renew,
    use,
    { type: 'RecordAttemptOutcome', data: { attempt: null, outcome: 'invalid' } },
    { type: 'RecordAttemptOutcome', data: { attempt: 1, outcome: 'failed-to-open' } },
    { type: 'RecordSellerQuoted', data: { candidate: a } },
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 30 }), (commands) => {
      let state = fold(matchDecider, [])
      for (const body of commands) {
        const command = { id: 'c', at: 0, ...body } as EnrichedMatchCommand // the command with an id and a time
        const decision = matchDecider.decide(state, command)
        if ('refused' in decision) {
          assert.equal(command.type, 'UseMatch')
          continue
        }
        state = decision.facts.reduce(matchDecider.evolve, state)
        const repeated = matchDecider.decide(state, command)
        // A repeated renewal is answered each time.
        if (command.type !== 'RenewReservation') assert.deepEqual(repeated, { facts: [] })
      }
    }),
  )
})

test('a funding is recorded only for the reservation that an attempt has now', () => {
  const record = (seen: boolean): CommandBody<EnrichedMatchCommand> => ({ type: 'RecordFunding', data: { attempt: 1, seen } })
  const funding = (seen: boolean, round = 0): MatchFact => ({
    type: 'MatchFundingRecorded',
    v: 1,
    data: { attempt: 1, asked: reservationOf(a, round), seen },
  })
  const begun = [searchBegun(1, a), matched(a)]
  given(matchDecider, searchBegun(1, a)).when(record(true)).then()
  given(matchDecider, ...begun)
    .when(record(true))
    .then(funding(true))
  given(matchDecider, ...begun, funding(true))
    .when(record(true))
    .then()
  given(matchDecider, ...begun, funding(true))
    .when(record(false))
    .then(funding(false))
  given(matchDecider, ...begun, funding(true), released(a))
    .when(record(false))
    .then()
  given(matchDecider, ...begun, funding(true), released(a), renewal(), reservationRenewed)
    .when(record(true))
    .then(funding(true, 1))
})
