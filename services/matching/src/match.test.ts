import { pubkey, uuid } from '@penstock/testkit/book.ts'
import assert from 'node:assert/strict'
import type { MatchFact, Need } from '@penstock/contracts/matching.ts'
import type { Candidate } from '@penstock/contracts/shapes.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { match, type MatchDecides } from './match.decide.ts'
import { searching } from './match.process.ts'

const order = uuid(99)
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
  offerId: uuid(n),
  sellerPubkey: pubkey(n),
  sellerAccountId: uuid(n),
  rails: false,
  sellerAmountMsat: '1',
  promises,
})
const need: Need = {
  sizeSat: '1000000',
  destination: { pubkey: pubkey(50), sockets: [] },
  isPrivate: false,
  railsOnly: false,
  assetId: null,
  sellers: null,
  leaseBlocks: 10,
  sellerBudgetMsat: '5000',
  ranking: 'cheapest',
}
const [a, b] = [candidate(1), candidate(2)]
const asked = (c: Candidate, round = 0) => ({ offerId: c.offerId, sellerPubkey: c.sellerPubkey, round })

/** What a funding costs is written down with the search, so that anybody can add up what a seller is owed. */
const fundingFees = { LOW: '154', MEDIUM: '308', HIGH: '616' }

const find = (attempt: number, ...candidates: Candidate[]): Wanted<MatchDecides> => ({
  type: 'FindSeller',
  data: { attempt, need, first: a, only: false, tried: [], candidates, fundingFees },
})
const begun = (attempt: number, ...candidates: Candidate[]): MatchFact => ({
  type: 'SearchBegun',
  v: 2,
  data: { attempt, need, standing: true, candidates, fundingFees },
})
const answer = (c: Candidate, granted: boolean, attempt = 1, round = 0): Wanted<MatchDecides> => ({
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
const release: Wanted<MatchDecides> = { type: 'ReleaseMatch', data: { attempt: 1, question: 1, reason: 'over' } }
const releaseAgain: Wanted<MatchDecides> = { type: 'ReleaseMatch', data: { attempt: 1, question: 2, reason: 'over' } }
const released = (c: Candidate | null, round = 0, question = 1): MatchFact => ({
  type: 'MatchReleased',
  v: 1,
  data: { attempt: 1, question, asked: c && asked(c, round), reason: 'over' },
})
const again: Wanted<MatchDecides> = { type: 'Rereserve', data: { attempt: 1, question: 1 } }
const askedAgain = (round = 1): MatchFact => ({ type: 'RereservationAsked', v: 2, data: { attempt: 1, round, question: 1 } })
const rereserved: MatchFact = { type: 'Rereserved', v: 2, data: { attempt: 1, question: 1 } }
const notAgain = (reason: string): MatchFact => ({ type: 'RereservationRefused', v: 1, data: { attempt: 1, reason } })
const use: Wanted<MatchDecides> = { type: 'UseMatch', data: { attempt: 1 } }
const used: MatchFact = { type: 'MatchUsed', v: 1, data: { attempt: 1, asked: asked(a) } }

test('candidates are asked one after the other until one has the capacity', () => {
  given(match)
    .when(find(1, a, b))
    .then(begun(1, a, b))
  given(match, begun(1, a, b))
    .when(find(1, b))
    .then()
  given(match, begun(1, a, b))
    .when(answer(a, true))
    .then(matched(a))
  given(match, begun(1, a, b))
    .when(answer(a, false))
    .then(lost(a))
  given(match, begun(1, a, b), lost(a))
    .when(answer(a, false))
    .then()
  given(match, begun(1, a, b), lost(a))
    .when(answer(b, true))
    .then(matched(b))
})

test('an exhausted search says so', () => {
  given(match).when(find(1)).then(begun(1), unmatched)
  given(match, begun(1, a)).when(answer(a, false)).then(lost(a), unmatched)
  given(match, begun(1, a), lost(a), unmatched).when(release).then(released(null))
  given(match, begun(1, a), lost(a), unmatched).when(again).then(notAgain('No seller had this attempt.'))
})

test('a match is released or used, whatever comes late', () => {
  given(match, begun(1, a), matched(a)).when(release).then(released(a))
  given(match, begun(1, a), matched(a)).when(use).then(used)
  given(match, begun(1, a), matched(a), used).when(use).then()
  given(match, begun(1, a), matched(a), used).when(release).then()
  given(match, begun(1, a, b))
    .when(release)
    .then(released(a))
  given(match, begun(1, a, b), released(a))
    .when(answer(a, true))
    .then()
  given(match, begun(1, a, b), released(a))
    .when(use)
    .then(used)
  given(match, begun(1, a, b), released(a), used)
    .when(use)
    .then()
  given(match).when(release).then(released(null))
  given(match, released(null)).when(find(1, a)).then()
  given(match, released(null)).when(again).then(notAgain('No seller had this attempt.'))
})

test('a replaced seller is asked once more, a round later', () => {
  const replaced = [begun(1, a), matched(a), released(a)]
  given(match, ...replaced)
    .when(again)
    .then(askedAgain())
  given(match, ...replaced, askedAgain())
    .when(again)
    .then()
  given(match, ...replaced, askedAgain())
    .when(answer(a, true))
    .then() // of the first round
  given(match, ...replaced, askedAgain())
    .when(answer(a, true, 1, 1))
    .then(rereserved)
  given(match, ...replaced, askedAgain())
    .when(answer(a, false, 1, 1))
    .then(notAgain('sold out'))
  given(match, ...replaced, askedAgain())
    .when(releaseAgain)
    .then(released(a, 1, 2))
  // whoever asks again, because it was never reserved again, is answered, and once
  given(match, ...replaced)
    .when(release)
    .then()
  given(match, ...replaced)
    .when(releaseAgain)
    .then(released(null, 0, 2))
  given(match, ...replaced, released(null, 0, 2))
    .when(releaseAgain)
    .then()
  // the first question once more, after the capacity was reserved again
  given(match, ...replaced, askedAgain(), rereserved)
    .when(release)
    .then()
  given(match, ...replaced, askedAgain(), rereserved)
    .when(again)
    .then(rereserved)
  given(match, ...replaced, askedAgain(), rereserved)
    .when(use)
    .then({ type: 'MatchUsed', v: 1, data: { attempt: 1, asked: asked(a, 1) } })
  given(match, ...replaced, askedAgain(), notAgain('sold out'))
    .when(again)
    .then(askedAgain(2))
  given(match, begun(1, a), matched(a)).when(again).then(rereserved) // never given back
  given(match).when(again).then(notAgain('No seller had this attempt.'))
})

describe('a wish to reserve again and a release that pass each other', () => {
  const wish = (question: number): Wanted<MatchDecides> => ({ type: 'Rereserve', data: { attempt: 1, question } })
  const granted = (question: number): MatchFact => ({ type: 'Rereserved', v: 2, data: { attempt: 1, question } })

  test('a release of before the wish gives nothing back that is in use', () => {
    given(match, begun(1, a), matched(a)).when(wish(1)).then(granted(1))
    given(match, begun(1, a), matched(a), granted(1)).when(release).then()
    given(match, begun(1, a), matched(a), granted(1))
      .when(releaseAgain)
      .then(released(a, 0, 2))
    given(match, begun(1, a), matched(a), released(a), askedAgain()).when(release).then()
    const second: MatchFact = { type: 'RereservationAsked', v: 2, data: { attempt: 1, round: 1, question: 2 } }
    given(match, begun(1, a), matched(a), released(a), second).when(releaseAgain).then()
  })

  test('a wish that is over reserves nothing, since nobody would give it back', () => {
    const over = [begun(1, a), matched(a), released(a, 0, 2)]
    given(match, ...over)
      .when(wish(1))
      .then()
    given(match, ...over)
      .when(wish(2))
      .then({ type: 'RereservationAsked', v: 2, data: { attempt: 1, round: 1, question: 2 } })
  })

  test('a wish of a version that did not count is believed, and the release before it is not known', () => {
    given(match, begun(1, a), matched(a), released(a, 0, 2))
      .when(wish(0))
      .then({ type: 'RereservationAsked', v: 2, data: { attempt: 1, round: 1, question: 0 } })
    given(match, begun(1, a), matched(a)).when(wish(0)).then(granted(0))
    given(match, begun(1, a), matched(a), granted(0)).when(release).then(released(a))
  })
})

test('the process asks while it searches, and for nothing else', () => {
  const steps = (...facts: MatchFact[]) => searching(fold(match, facts), order)
  expect(steps(begun(1, a, b))).toEqual([
    {
      kind: 'command',
      category: 'offer',
      id: a.offerId,
      step: `reserve/1/0/${a.offerId}`,
      attempt: 1,
      command: {
        type: 'Reserve',
        data: { orderId: order, attempt: 1, round: 0, sizeSat: '1000000', candidate: a, isPrivate: false, standing: true },
      },
    },
  ])
  expect(steps(begun(1, a, b), lost(a))).toMatchObject([{ id: b.offerId }])
  expect(steps(begun(1, a), matched(a), released(a), askedAgain())).toMatchObject([{ step: `reserve/1/1/${a.offerId}` }])
  for (const over of [[matched(a)], [matched(a), used], [released(a)], [lost(a), unmatched]])
    expect(steps(begun(1, a), ...over)).toEqual([])
})

test('outcomes go to the seller who had the attempt, and an attempt fails once', () => {
  const note = (outcome: Extract<MatchFact, { type: 'OutcomeNoted' }>['data']['outcome'], attempt: number | null = null) =>
    ({ type: 'NoteOutcome', data: { attempt, outcome } }) as const
  const noted = (outcome: ReturnType<typeof note>['data']['outcome'], c = a, attempt = 1): MatchFact => ({
    type: 'OutcomeNoted',
    v: 1,
    data: { attempt, sellerPubkey: c.sellerPubkey, outcome },
  })
  const shown: MatchFact = { type: 'SellerShown', v: 1, data: { candidate: a } }
  const second = [begun(1, a), matched(a), begun(2, b), matched(b, 2)]
  // a late outpoint of the first seller that came to nothing takes nothing away from the second
  given(match, ...second, released(a), askedAgain(), rereserved, released(a, 1, 2))
    .when(note('failed-to-send', 2))
    .then(noted('failed-to-send', b, 2))
  given(match, begun(1, a), matched(a), used, noted('lease-kept')).when(note('promise-broken', 1)).then(noted('promise-broken'))
  given(match, begun(1, a), matched(a), used, noted('lease-kept'), noted('promise-broken')).when(note('promise-broken', 1)).then()
  given(match, ...second)
    .when(note('failed-to-open', 1))
    .then(noted('failed-to-open'))
  given(match, ...second, noted('failed-to-open'))
    .when(note('failed-to-open', 1))
    .then()
  given(match, ...second, noted('failed-to-open'))
    .when(note('invalid', 2))
    .then(noted('invalid', b, 2))
  given(match, ...second, noted('failed-to-send', b, 2))
    .when(note('invalid', 2))
    .then()
  given(match, begun(1, a), matched(a), used).when(note('lease-kept', 1)).then(noted('lease-kept'))
  given(match, begun(1, a), matched(a)).when(note('rejected')).then() // nobody had the capacity
  given(match)
    .when({ type: 'NoteShown', data: { candidate: a } })
    .then(shown)
  given(match, shown)
    .when({ type: 'NoteShown', data: { candidate: a } })
    .then()
  given(match, shown).when(note('rejected')).then(noted('rejected'))
  given(match, shown).when(note('no-reaction')).then(noted('no-reaction'))
  given(match).when(note('no-reaction')).then()
  given(match, shown).when(note('failed-to-open')).then()
})

test('any order of commands folds, and the same command twice adds nothing', () => {
  const some = fc.constantFrom<Wanted<MatchDecides>>(
    find(1, a, b),
    find(2, b),
    answer(a, true),
    answer(a, false),
    answer(b, true),
    answer(a, true, 1, 1),
    answer(a, false, 1, 1),
    answer(b, true, 2),
    release,
    releaseAgain,
    again,
    use,
    { type: 'NoteOutcome', data: { attempt: null, outcome: 'invalid' } },
    { type: 'NoteOutcome', data: { attempt: 1, outcome: 'failed-to-open' } },
    { type: 'NoteShown', data: { candidate: a } },
  )
  fc.assert(
    fc.property(fc.array(some, { maxLength: 30 }), (commands) => {
      let state = fold(match, [])
      for (const wanted of commands) {
        const command = { id: 'c', at: 0, ...wanted } as MatchDecides // a wanted command with id and time
        const decision = match.decide(state, command)
        assert.ok('facts' in decision, 'nothing is refused')
        state = decision.facts.reduce(match.evolve, state)
        const repeated = match.decide(state, command)
        // A wish to reserve again is answered each time that it is uttered.
        if (command.type !== 'Rereserve') assert.deepEqual(repeated, { facts: [] })
      }
    }),
  )
})
