import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { channelMachine } from '@penstock/channel-watcher/channel.machine.ts'
import { match, type MatchDecides } from '@penstock/matching/match.decide.ts'
import { attemptOf, type Match } from '@penstock/matching/match.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { holdMachine } from '@penstock/settlement/hold.machine.ts'
import * as samples from '@penstock/settlement/samples.contract.ts'
import { settlement } from '@penstock/settlement/settlement.ts'
import type { Settlement, SettlementCommand } from '@penstock/settlement/state.ts'
import { candidateOf } from '@penstock/testkit/order-terms.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Told, mayFollow } from './told-by.ts'
import { unreachable } from './unreachable.ts'
import { type Walk, walkOrder } from './order-walks.ts'

const RUNS = 800
const listed = (machine: string): readonly string[] =>
  Object.keys(unreachable).flatMap((edge) => (edge.startsWith(`${machine}: `) ? edge.slice(machine.length + 2) : []))

describe('an order that hears what others can tell, in any order in which they can', () => {
  const walks: Walk[] = []
  beforeAll(() => {
    const begun = fc.record({ manual: fc.boolean(), sale: fc.nat(3), begun: fc.nat(15) })
    const tapes = fc.array(fc.nat(1000), { maxLength: 25, size: 'max' })
    for (const [tape, beginning] of fc.sample(fc.tuple(tapes, begun), { numRuns: RUNS, seed: 1 }))
      walks.push(walkOrder(tape, { ...beginning, manual: beginning.manual && beginning.begun < 3 }))
  }, 120_000)
  const asked = (what: string) => walks.flatMap((walk) => walk.asked.filter(({ step }) => step.command.type === what))

  test('takes no edge that is said to be unreachable, and most others', () => {
    const edges = new Set(walks.flatMap((walk) => [...walk.edges]))
    expect(listed('order').filter((edge) => edges.has(edge))).toEqual([])
    expect(edges.size).toBeGreaterThan(90)
  })

  test('asks for capacity again only of a seller that it had, and not of one whose match it uses', () => {
    const again = asked('Rereserve')
    expect(again.length).toBeGreaterThan(10)
    for (const { step, heard } of again) expect(heard).toContain(`Matched ${attemptIn(step.command.data)}`)
    const used = walks.filter((walk) => walk.asked.some(({ step }) => step.command.type === 'UseMatch'))
    expect(used.length).toBeGreaterThan(10)
    for (const walk of used)
      expect(
        walk.asked.flatMap(({ step, heard }) =>
          step.command.type === 'UseMatch' ? unanswered(walk, step.command.data, heard) : [],
        ),
      ).toEqual([])
  })

  test('hands on an outpoint only when it has heard that the payment is held', () => {
    const noting = asked('NoteOutpoint')
    expect(noting.length).toBeGreaterThan(100)
    for (const { heard } of noting) expect(heard).toContain('HoldHeld')
  })

  test('asks settlement for the hold, or for none, before anything else', () => {
    const first = walks.flatMap((walk) => walk.asked.find(({ step }) => step.category === 'settlement')?.step.command.type ?? [])
    expect(asked('GivePayoutInvoice').length).toBeGreaterThan(10)
    expect(new Set(first)).toEqual(new Set(['IssueHold']))
  })

  test('lets go of its watch or begins a lease, never both, and hands on no attestation behind the lease', () => {
    const ofChannel = walks.map((walk) => walk.asked.filter(({ step }) => step.category === 'channel').map(({ step }) => step))
    const types = ofChannel.map((steps) => steps.map(({ command }) => command.type))
    expect(types.filter((one) => one.includes('StopWatch')).length).toBeGreaterThan(10)
    expect(types.filter((one) => one.includes('StartLease')).length).toBeGreaterThan(10)
    expect(types.filter((one) => one.includes('KeepAttestation')).length).toBeGreaterThan(10)
    expect(types.filter((one) => one.includes('StopWatch') && one.includes('StartLease'))).toEqual([])
    expect(types.filter((one) => one.includes('StartLease') && one.indexOf('StartLease') < one.length - 1)).toEqual([])
  })
})

// What asks about an attempt names it.
const attemptIn = (data: object): number => (data as { readonly attempt: number }).attempt

/** Questions about the capacity of this attempt that nobody had answered by then. */
const unanswered = ({ asked }: Walk, data: object, heard: readonly Told[]): readonly string[] => {
  const questions = asked.filter(
    ({ step, heard: then }) =>
      step.command.type === 'Rereserve' && attemptIn(step.command.data) === attemptIn(data) && then.length <= heard.length,
  )
  const answers = heard.filter((told) => told === `Rereserved ${attemptIn(data)}`)
  return questions.slice(answers.length).map(({ step }) => step.step)
}

describe('what others can tell, and in which order', () => {
  const wishes: readonly Pick<SettlementCommand, 'type' | 'data'>[] = [
    { type: 'IssueHold', data: { ...samples.terms, ...samples.nodeView } },
    { type: 'RecordIssued', data: { invoice: 'ln', expiresAt: samples.EXPIRES } },
    { type: 'RecordHeld', data: { ...samples.held, crowdedPeer: null } },
    { type: 'NoteOutpoint', data: { ...samples.noted, height: 855, ...samples.unseen } },
    { type: 'SettleHold', data: { outpoint: samples.OUTPOINT } },
    {
      type: 'Guard',
      data: { height: 903, outpoint: samples.OUTPOINT, evidence: samples.evidence(), lookedAt: 0, ...samples.limit },
    },
    { type: 'RecordSettled', data: { settledAt: samples.NOW, receivedMsat: '5000000' } },
    { type: 'Guard', data: { height: 990, outpoint: null, evidence: null, lookedAt: 0, ...samples.limit } },
    { type: 'LastHeight', data: { height: samples.E - 20 } },
    { type: 'RecordReach', data: { attempt: 0, reached: false, reason: 'x', height: 850 } },
    { type: 'CancelHold', data: { sentence: 'x' } },
    { type: 'ExpireInvoice', data: { deadline: samples.EXPIRES, paymentHash: samples.HASH, held: null, node: samples.node } },
    {
      type: 'ExpireInvoice',
      data: { deadline: samples.EXPIRES, paymentHash: samples.HASH, held: samples.held, node: samples.node },
    },
    { type: 'RecordCancelled', data: { at: samples.NOW, unmade: false } },
    { type: 'RecordCancelled', data: { at: samples.NOW, unmade: true } },
    { type: 'RecordNodeCancelled', data: { at: samples.NOW, height: 985 } },
    { type: 'RecordNodeCancelled', data: { at: samples.EXPIRES, height: 985 } },
  ]
  const decided = (state: Settlement, wish: (typeof wishes)[number]): readonly SettlementFact[] => {
    const decision = settlement.decide(state, { id: 'c', at: samples.NOW, ...wish } as SettlementCommand) // typed above
    return 'facts' in decision ? decision.facts : []
  }
  /** What an order is told with a fact, as told-by.ts has it. */
  const toldBy = ({ type, data }: SettlementFact): readonly Told[] => {
    if (type === 'HoldCancelled') return [`HoldCancelled ${data.reason}`]
    if (type === 'CancelRequested') return data.reason === 'expired' ? ['CancelRequested expired'] : []
    if (type === 'OutpointNoted') return [`OutpointNoted ${data.outpoint}`]
    if (type === 'SettleRequested') return [`SettleRequested ${data.proof.outpoint}`]
    return ['HoldIssued', 'HoldHeld', 'HoldRefused', 'HoldSettled'].includes(type) ? [type] : []
  }

  test('settlement tells nothing that an order on its walks could not hear', () => {
    const kinds = new Set<string>()
    const histories = fc.tuple(fc.nat(7), fc.array(fc.constantFrom(...wishes), { maxLength: 25, size: 'max' }))
    fc.assert(
      fc.property(histories, ([begun, rest]) => {
        const heard: Told[] = []
        let state = settlement.initial
        for (const wish of [...wishes.slice(0, begun), ...rest])
          for (const fact of decided(state, wish)) {
            state = settlement.evolve(state, fact)
            for (const told of toldBy(fact)) {
              expect(mayFollow(heard, told), `${told} after ${heard.join(', ')}`).toBe(true)
              heard.push(told)
              kinds.add(told.split(' ')[0] ?? '')
            }
          }
      }),
      { numRuns: 2000 },
    )
    expect(kinds.size).toBe(8)
  })

  test('a hold that was asked for, or refused, is never again one that was not', () => {
    for (const wish of wishes.filter(({ type }) => type === 'IssueHold'))
      expect(decided(settlement.initial, wish).reduce(settlement.evolve, settlement.initial).hold.status).not.toBe('NONE')
  })

  test('nor one that waits for its payment, once that was held', () => {
    const { edges } = compile<string, string>(holdMachine)
    const after = new Set(edges.flatMap(([, event, to]) => (event === 'HoldHeld' ? [to] : [])))
    for (const status of after) for (const [from, , to] of edges) if (from === status) after.add(to)
    expect([...after].toSorted()).toEqual(['cancelled', 'cancelling', 'held', 'settled', 'settling'])
  })

  test('and the end of a lease is the last word of a watch', () => {
    const { edges } = compile<string, string>(channelMachine)
    expect(edges.filter(([from]) => from === 'ENDED')).toEqual([])
    expect(new Set(edges.flatMap(([, event, to]) => (event === 'LeaseEnded' ? [to] : [])))).toEqual(new Set(['ENDED']))
  })
})

test('a search that once found somebody refuses no question about the capacity but the one that it asked itself', () => {
  const found: MatchDecides['data'] = {
    ...({} as Extract<MatchDecides, { type: 'FindSeller' }>['data']),
    attempt: 1,
    candidates: [candidateOf(1), candidateOf(2)],
    fundingFees: null,
  }
  const answer = (round: number, digit: number, granted: boolean) => ({
    type: 'RecordReservation',
    data: { attempt: 1, round, offerId: candidateOf(digit).offerId, granted, reason: null },
  })
  const wishes = [
    ...[0, 1, 2].flatMap((round) => [1, 2].flatMap((digit) => [answer(round, digit, true), answer(round, digit, false)])),
    ...[1, 2, 3].map((question) => ({ type: 'ReleaseMatch', data: { attempt: 1, question, reason: 'x' } })),
    { type: 'UseMatch', data: { attempt: 1 } },
    ...[0, 1, 2].map((question) => ({ type: 'Rereserve', data: { attempt: 1, question } })),
  ]
  const edges = new Set<string>()
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...wishes), { maxLength: 25, size: 'max' }), (tape) => {
      let [state, hasMatched]: [Match, boolean] = [match.initial, false]
      for (const wish of [{ type: 'FindSeller', data: found }, ...tape]) {
        if (wish.type === 'Rereserve' && !hasMatched) continue
        const decision = match.decide(state, { id: 'c', at: 0, ...wish } as MatchDecides) // typed by what they are called
        for (const fact of 'facts' in decision ? decision.facts : []) {
          const before = attemptOf(state, 1).status
          state = match.evolve(state, fact)
          edges.add(`${before} --${fact.type}--> ${attemptOf(state, 1).status}`)
          hasMatched ||= fact.type === 'Matched'
        }
      }
    }),
    { numRuns: 2000 },
  )
  expect(edges).toContain('ASKING_AGAIN --RereservationRefused--> RELEASED')
  expect(listed('match').filter((edge) => edge.includes('RereservationRefused') && edges.has(edge))).toEqual([])
})
