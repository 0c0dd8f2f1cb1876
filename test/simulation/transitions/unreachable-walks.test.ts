import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { channelMachine } from '@penstock/channel-watcher/channel.machine.ts'
import { matchDecider, type EnrichedMatchCommand } from '@penstock/matching/match.decide.ts'
import { matchAttemptOf, type Match } from '@penstock/matching/match.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { holdMachine } from '@penstock/settlement/hold/hold.machine.ts'
import * as samples from '@penstock/settlement/samples.fixture.ts'
import { settlementDecider } from '@penstock/settlement/settlement.decide.ts'
import type { Settlement, EnrichedSettlementCommand } from '@penstock/settlement/state.ts'
import { createCandidate } from '@penstock/testkit/order-terms.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ReceivedFact, mayFollow } from './causality.ts'
import { unreachableTransitions } from './unreachable.ts'
import { type OrderWalk, walkOrder } from './order-walks.ts'

const RUNS = 800
const listedTransitions = (machine: string): readonly string[] =>
  Object.keys(unreachableTransitions).flatMap((edge) => (edge.startsWith(`${machine}: `) ? edge.slice(machine.length + 2) : []))

describe('an order that receives the facts of other streams in any possible sequence', () => {
  const walks: OrderWalk[] = []
  beforeAll(() => {
    const walkStarts = fc.record({ manual: fc.boolean(), sale: fc.nat(3), steps: fc.nat(15) })
    const tapes = fc.array(fc.nat(1000), { maxLength: 25, size: 'max' })
    for (const [choices, beginning] of fc.sample(fc.tuple(tapes, walkStarts), { numRuns: RUNS, seed: 1 }))
      walks.push(walkOrder(choices, { ...beginning, manual: beginning.manual && beginning.steps < 3 }))
  }, 120_000)
  const listRequests = (type: string) => walks.flatMap((walk) => walk.requests.filter(({ step }) => step.command.type === type))

  test('takes more than 70 transitions, and no transition that is listed as unreachable', () => {
    const edges = new Set(walks.flatMap((walk) => [...walk.transitions]))
    expect(listedTransitions('order').filter((edge) => edges.has(edge))).toEqual([])
    expect(edges.size).toBeGreaterThan(70)
  })

  test('renews only a reservation that was matched, and sends UseMatch only after all renewals are answered', () => {
    const renewals = listRequests('RenewReservation')
    expect(renewals.length).toBeGreaterThan(10)
    for (const { step, heard: heardFacts } of renewals) expect(heardFacts).toContain(`Matched ${readAttempt(step.command.data)}`)
    const used = walks.filter((walk) => walk.requests.some(({ step }) => step.command.type === 'UseMatch'))
    expect(used.length).toBeGreaterThan(10)
    for (const walk of used)
      expect(
        walk.requests.flatMap(({ step, heard: heardFacts }) =>
          step.command.type === 'UseMatch' ? listUnanswered(walk, step.command.data, heardFacts) : [],
        ),
      ).toEqual([])
  })

  test('sends an outpoint to settlement only after HoldHeld', () => {
    const requests = listRequests('RegisterOutpoint')
    expect(requests.length).toBeGreaterThan(100)
    for (const { heard: heardFacts } of requests) expect(heardFacts).toContain('HoldHeld')
  })

  test('sends IssueHold as the first command to settlement', () => {
    const firstTypes = walks.flatMap(
      (walk) => walk.requests.find(({ step }) => step.category === 'settlement')?.step.command.type ?? [],
    )
    expect(listRequests('SubmitPayoutInvoice').length).toBeGreaterThan(10)
    expect(new Set(firstTypes)).toEqual(new Set(['IssueHold']))
  })

  test('sends the channel either StopWatch or StartLease, and no command after StartLease', () => {
    const channelRequests = walks.map((walk) => walk.requests.filter(({ step }) => step.category === 'channel'))
    const commandTypes = channelRequests.map((requests) => requests.map(({ step }) => step.command.type))
    expect(commandTypes.filter((types) => types.includes('StopWatch')).length).toBeGreaterThan(10)
    expect(commandTypes.filter((types) => types.includes('StartLease')).length).toBeGreaterThan(10)
    expect(commandTypes.filter((types) => types.includes('KeepAttestation')).length).toBeGreaterThan(10)
    expect(commandTypes.filter((types) => types.includes('StopWatch') && types.includes('StartLease'))).toEqual([])
    expect(
      commandTypes.filter((types) => types.includes('StartLease') && types.indexOf('StartLease') < types.length - 1),
    ).toEqual([])
  })
})

// The cast is safe because the data of these commands contains the attempt.
const readAttempt = (data: object): number => (data as { readonly attempt: number }).attempt

/** @returns the renewals of an attempt that were not answered yet after these facts */
const listUnanswered = ({ requests }: OrderWalk, data: object, heardFacts: readonly ReceivedFact[]): readonly string[] => {
  const renewals = requests.filter(
    ({ step, heard: heardBefore }) =>
      step.command.type === 'RenewReservation' &&
      readAttempt(step.command.data) === readAttempt(data) &&
      heardBefore.length <= heardFacts.length,
  )
  const answers = heardFacts.filter((heardFact) => heardFact === `ReservationRenewed ${readAttempt(data)}`)
  return renewals.slice(answers.length).map(({ step }) => step.step)
}

describe('the deciders and state machines of settlement and channel-watcher', () => {
  const commands: readonly Pick<EnrichedSettlementCommand, 'type' | 'data'>[] = [
    { type: 'IssueHold', data: { ...samples.sampleHoldTerms, ...samples.sampleNodeView } },
    { type: 'RecordIssued', data: { invoice: 'ln', expiresAt: samples.EXPIRES } },
    { type: 'RecordHeld', data: { ...samples.heldPayment, crowdedPeer: null } },
    { type: 'RegisterOutpoint', data: { ...samples.registeredOutpoint, height: 855, ...samples.unseenOutpoint } },
    { type: 'SettleHold', data: { outpoint: samples.OUTPOINT } },
    {
      type: 'Guard',
      data: {
        height: 903,
        outpoint: samples.OUTPOINT,
        evidence: samples.sampleEvidence(),
        observedAt: 0,
        ...samples.sampleFeeLimit,
      },
    },
    { type: 'RecordSettled', data: { settledAt: samples.NOW, receivedMsat: '5000000' } },
    { type: 'Guard', data: { height: 990, outpoint: null, evidence: null, observedAt: 0, ...samples.sampleFeeLimit } },
    { type: 'LastHeight', data: { height: samples.E - 20 } },
    { type: 'RecordReach', data: { attempt: 0, reached: false, reason: 'x', height: 850 } },
    { type: 'CancelHold', data: { sentence: 'x' } },
    { type: 'ExpireInvoice', data: { deadline: samples.EXPIRES, paymentHash: samples.HASH, held: null, node: samples.node } },
    {
      type: 'ExpireInvoice',
      data: { deadline: samples.EXPIRES, paymentHash: samples.HASH, held: samples.heldPayment, node: samples.node },
    },
    { type: 'RecordCancelled', data: { at: samples.NOW, unmade: false } },
    { type: 'RecordCancelled', data: { at: samples.NOW, unmade: true } },
    { type: 'RecordNodeCancelled', data: { at: samples.NOW, height: 985 } },
    { type: 'RecordNodeCancelled', data: { at: samples.EXPIRES, height: 985 } },
  ]
  const decideFacts = (state: Settlement, message: (typeof commands)[number]): readonly SettlementFact[] => {
    const decision = settlementDecider.decide(state, { id: 'c', at: samples.NOW, ...message } as EnrichedSettlementCommand) // Typed above.
    return 'facts' in decision ? decision.facts : []
  }
  /** @returns the facts that an order receives after a settlement fact, formatted as for `mayFollow` */
  const listHeardFacts = ({ type, data }: SettlementFact): readonly ReceivedFact[] => {
    if (type === 'HoldCancelled') return [`HoldCancelled ${data.reason}`]
    if (type === 'CancelRequested') return data.reason === 'expired' ? ['CancelRequested expired'] : []
    if (type === 'OutpointRegistered') return [`OutpointRegistered ${data.outpoint}`]
    if (type === 'SettlementStarted') return [`SettlementStarted ${data.proof.outpoint}`]
    return ['HoldIssued', 'HoldHeld', 'HoldRefused', 'HoldSettled'].includes(type) ? [type] : []
  }

  test('give only sequences of settlement facts that mayFollow allows', () => {
    const kinds = new Set<string>()
    const histories = fc.tuple(fc.nat(7), fc.array(fc.constantFrom(...commands), { maxLength: 25, size: 'max' }))
    fc.assert(
      fc.property(histories, ([prefixLength, choices]) => {
        const heardFacts: ReceivedFact[] = []
        let state = settlementDecider.initial
        for (const message of [...commands.slice(0, prefixLength), ...choices])
          for (const fact of decideFacts(state, message)) {
            state = settlementDecider.evolve(state, fact)
            for (const heardFact of listHeardFacts(fact)) {
              expect(mayFollow(heardFacts, heardFact), `${heardFact} after ${heardFacts.join(', ')}`).toBe(true)
              heardFacts.push(heardFact)
              kinds.add(heardFact.split(' ')[0] ?? '')
            }
          }
      }),
      { numRuns: 2000 },
    )
    expect(kinds.size).toBe(8)
  })

  test('move a hold out of the status NONE with the first IssueHold', () => {
    for (const message of commands.filter(({ type }) => type === 'IssueHold'))
      expect(
        decideFacts(settlementDecider.initial, message).reduce(settlementDecider.evolve, settlementDecider.initial).hold.status,
      ).not.toBe('NONE')
  })

  test('never return a hold to an unpaid status after HoldHeld', () => {
    const { edges } = compileLifecycle<string, string>(holdMachine)
    const after = new Set(edges.flatMap(([, event, to]) => (event === 'HoldHeld' ? [to] : [])))
    for (const status of after) for (const [from, , to] of edges) if (from === status) after.add(to)
    expect([...after].toSorted()).toEqual(['cancelled', 'cancelling', 'held', 'settled', 'settling'])
  })

  test('end the stream of a channel with LeaseEnded', () => {
    const { edges } = compileLifecycle<string, string>(channelMachine)
    expect(edges.filter(([from]) => from === 'ENDED')).toEqual([])
    expect(new Set(edges.flatMap(([, event, to]) => (event === 'LeaseEnded' ? [to] : [])))).toEqual(new Set(['ENDED']))
  })
})

test('a search that has matched refuses a renewal only in the status ASKING_AGAIN', () => {
  const findSellerData: EnrichedMatchCommand['data'] = {
    ...({} as Extract<EnrichedMatchCommand, { type: 'FindSeller' }>['data']),
    attempt: 1,
    candidates: [createCandidate(1), createCandidate(2)],
    fundingFees: null,
  }
  const answer = (round: number, digit: number, granted: boolean) => ({
    type: 'RecordReservation',
    data: { attempt: 1, round, offerId: createCandidate(digit).offerId, granted, reason: null },
  })
  const commands = [
    ...[0, 1, 2].flatMap((round) => [1, 2].flatMap((digit) => [answer(round, digit, true), answer(round, digit, false)])),
    ...[1, 2, 3].map((requestNumber) => ({ type: 'ReleaseMatch', data: { attempt: 1, requestNumber, reason: 'x' } })),
    { type: 'UseMatch', data: { attempt: 1 } },
    ...[0, 1, 2].map((requestNumber) => ({ type: 'RenewReservation', data: { attempt: 1, requestNumber } })),
  ]
  const edges = new Set<string>()
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...commands), { maxLength: 25, size: 'max' }), (choices) => {
      let [state, hasMatched]: [Match, boolean] = [matchDecider.initial, false]
      for (const message of [{ type: 'FindSeller', data: findSellerData }, ...choices]) {
        if (message.type === 'RenewReservation' && !hasMatched) continue
        const decision = matchDecider.decide(state, { id: 'c', at: 0, ...message } as EnrichedMatchCommand) // Data of its type.
        for (const fact of 'facts' in decision ? decision.facts : []) {
          const before = matchAttemptOf(state, 1).status
          state = matchDecider.evolve(state, fact)
          edges.add(`${before} --${fact.type}--> ${matchAttemptOf(state, 1).status}`)
          hasMatched ||= fact.type === 'Matched'
        }
      }
    }),
    { numRuns: 2000 },
  )
  expect(edges).toContain('ASKING_AGAIN --ReservationRenewalRefused--> RELEASED')
  expect(listedTransitions('match').filter((edge) => edge.includes('ReservationRenewalRefused') && edges.has(edge))).toEqual([])
})
