import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { settlementContract as contract } from '@penstock/contracts/settlement.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { owedMsat } from './payout/ledger.ts'
import {
  sampleAttestation,
  E,
  sampleEvidence,
  EXPIRES,
  HASH,
  heldPayment,
  sampleFeeLimit,
  sampleNodeView,
  NOW,
  node,
  registeredOutpoint,
  OUTPOINT,
  makePayoutInvoice,
  SELLER_MSAT,
  stranger,
  sampleHoldTerms,
  unseenOutpoint,
} from './samples.fixture.ts'
import { settlementDecider } from './settlement.decide.ts'
import { settlementProcess } from './settlement.process.ts'
import type { Settlement, EnrichedSettlementCommand } from './state.ts'

/** Commands in any order, as a bus, a node, a chain and three other services might send them. */
type CommandInput = EnrichedSettlementCommand extends infer C
  ? C extends EnrichedSettlementCommand
    ? Pick<C, 'type' | 'data'>
    : never
  : never
const OTHER = `${'00'.repeat(32)}:0`
const invoices = [
  makePayoutInvoice(),
  makePayoutInvoice({ paymentHash: '01'.repeat(32) }),
  makePayoutInvoice({ amountMsat: 1n, paymentHash: '02'.repeat(32) }),
  makePayoutInvoice({ by: 2, paymentHash: '03'.repeat(32) }),
]
const spentBy = { txid: 'ee'.repeat(32), height: 902 }
const seen = [
  sampleEvidence(),
  sampleEvidence({ tipHeight: 906 }),
  sampleEvidence({ tipHeight: 2000 }),
  sampleEvidence({ graph: null, probe: 'reached' }),
  sampleEvidence({ graph: null }),
  sampleEvidence({ output: null }),
  sampleEvidence({}, { spentBy }),
  sampleEvidence({ tipHeight: 2000 }, { spentBy }),
  sampleEvidence({}, { valueSat: '1' }),
  null,
]
const from = <T>(...values: readonly T[]) => fc.constantFrom(...values)
const outpoint = from(OUTPOINT, OUTPOINT, OTHER)
const attempt = fc.integer({ min: 1, max: 4 })
const height = from(855, 903, 906, 950, E - 25, E - 24, E, 1912, 2500)
const invoice = from(...invoices)
const data = <T extends CommandInput['type']>(
  type: T,
  values: fc.Arbitrary<Extract<CommandInput, { type: T }>['data']>,
): fc.Arbitrary<CommandInput> => values.map((value) => ({ type, data: value }) as CommandInput) // the type with its own data

const commandInput: fc.Arbitrary<CommandInput> = fc.oneof(
  { weight: 4, arbitrary: data('IssueHold', from({ ...sampleHoldTerms, ...sampleNodeView })) },
  { weight: 4, arbitrary: data('RecordIssued', from({ invoice: 'lnbcrt1', expiresAt: EXPIRES })) },
  {
    weight: 4,
    arbitrary: data('RecordHeld', from(...[null, null, null, stranger].map((crowdedPeer) => ({ ...heldPayment, crowdedPeer })))),
  },
  {
    weight: 4,
    arbitrary: data(
      'RegisterOutpoint',
      fc
        .record({
          at: height,
          to: outpoint,
          signed: from(null, sampleAttestation),
          attempt,
          confirmed: from(null, null, 851, 850),
          entered: from(null, null, NOW - 1, NOW),
          outpointNumber: fc.nat(3),
        })
        .map((n) => ({
          ...registeredOutpoint,
          attempt: n.attempt,
          outpoint: n.to,
          outpointNumber: n.outpointNumber,
          attestation: n.signed,
          height: n.at,
          seesMempool: true,
          confirmedAtHeight: n.confirmed,
          enteredMempoolAt: n.entered,
          heldSince: { [HASH]: NOW },
        })),
    ),
  },
  { weight: 4, arbitrary: data('SettleHold', fc.record({ outpoint })) },
  {
    weight: 8,
    arbitrary: data(
      'Guard',
      fc
        .record({ height, outpoint: from(OUTPOINT, OUTPOINT, OTHER, null), evidence: from(...seen), nodeReady: fc.boolean() })
        .map((g) => ({ ...g, observedAt: 0, ...sampleFeeLimit })),
    ),
  },
  {
    weight: 4,
    arbitrary: data(
      'RecordSettled',
      from(
        { settledAt: NOW, receivedMsat: '5000000' },
        { settledAt: NOW, receivedMsat: '9000001' },
        { settledAt: NOW, receivedMsat: '1' },
      ),
    ),
  },
  data('CheckReach', fc.record({ attempt })),
  data('RecordReach', fc.record({ attempt: fc.integer({ min: 0, max: 4 }), reached: fc.boolean(), reason: from('x'), height })),
  data('LastHeight', from({ height: E - 24 }, { height: E - 20 })),
  data('CancelHold', from({ sentence: 'x' }, { sentence: 'x', byOperator: true as const })),
  data('EndLoss', from({ height: E }, { height: E + 1008 })),
  data(
    'ExpireInvoice',
    from(
      { deadline: EXPIRES, paymentHash: HASH, held: null, node },
      { deadline: EXPIRES, paymentHash: HASH, held: heldPayment, node },
      { deadline: EXPIRES, paymentHash: HASH, held: null, node: 'another' },
      { deadline: 1, paymentHash: HASH, held: null, node },
    ),
  ),
  data('RecordSettlementMissed', from({ height: E - 13 }, { height: E - 12 })),
  data('RecordCancelled', from({ at: NOW, unmade: false }, { at: NOW, unmade: true })),
  data('RecordNodeCancelled', from({ at: NOW, height: 985 }, { at: EXPIRES, height: 900 })),
  {
    weight: 3,
    arbitrary: data(
      'SubmitPayoutInvoice',
      invoice.map((i) => ({ ...i, network: 'regtest' as const })),
    ),
  },
  {
    weight: 3,
    arbitrary: data(
      'RecordPayhash',
      fc
        .record({ i: invoice, granted: from(true, true, false) })
        .map(({ i, granted }) => ({ paymentHash: i.paymentHash, granted, ...sampleFeeLimit })),
    ),
  },
  {
    weight: 3,
    arbitrary: data(
      'RecordPayout',
      fc
        .record({ attempt, ok: fc.boolean(), status: from('NO_ROUTE' as const, 'SELLER_INVOICE_EXPIRED' as const) })
        .map(({ attempt: n, ok, status }) =>
          ok
            ? { state: 'succeeded' as const, attempt: n, feeMsat: '10', ...sampleFeeLimit }
            : { state: 'failed' as const, attempt: n, status, reason: 'x', ...sampleFeeLimit },
        ),
    ),
  },
  data('RecordPromiseBroken', fc.record({ sentence: from('x'), height })),
  data('RetryPayout', from({ deadline: NOW + 15_000, ...sampleFeeLimit }, { deadline: NOW + 30_000, ...sampleFeeLimit })),
)

const commandOf = (input: CommandInput): EnrichedSettlementCommand => ({ id: 'c', at: NOW, ...input })
const factsOf = (state: Settlement, input: CommandInput): readonly SettlementFact[] => {
  const decision = settlementDecider.decide(state, commandOf(input))
  return 'facts' in decision ? decision.facts : []
}

/** The commands of a normal purchase; a history that starts with some of them reaches late states. */
const usualBeginning: readonly CommandInput[] = [
  { type: 'IssueHold', data: { ...sampleHoldTerms, ...sampleNodeView } },
  { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } },
  { type: 'RecordHeld', data: { ...heldPayment, crowdedPeer: null } },
  { type: 'RegisterOutpoint', data: { ...registeredOutpoint, height: 855, ...unseenOutpoint } },
  { type: 'SettleHold', data: { outpoint: OUTPOINT } },
  {
    type: 'Guard',
    data: { height: 903, outpoint: OUTPOINT, evidence: sampleEvidence(), observedAt: 0, nodeReady: true, ...sampleFeeLimit },
  },
  { type: 'RecordSettled', data: { settledAt: NOW, receivedMsat: '5000000' } },
]
const history = fc
  .tuple(fc.integer({ min: 0, max: usualBeginning.length }), fc.array(commandInput, { maxLength: 40 }))
  .map(([count, rest]) => [...usualBeginning.slice(0, count), ...rest])

test('on random histories, all facts fold, a repeated command adds no fact, and no money is lost or created', () => {
  fc.assert(
    fc.property(history, (inputs) => {
      const facts: SettlementFact[] = []
      let state = settlementDecider.initial
      for (const input of inputs) {
        const decided = factsOf(state, input)
        state = decided.reduce(settlementDecider.evolve, state)
        facts.push(...decided)
        // An order that submits an invoice again, by a command with another id, gets an answer again.
        expect(input.type === 'SubmitPayoutInvoice' ? [] : factsOf(state, input)).toEqual([])
        settlementProcess(state, 'order')
        for (const { type, data: shape } of decided) contract.facts[type].schema.parse(shape)
      }
      checkMoney(state)
      checkDecisions(facts)
    }),
    { numRuns: 1500 },
  )
})

function checkMoney({ balances, payout, hold, loss }: Settlement): void {
  expect(Object.values(balances).reduce((sum, amountMsat) => sum + amountMsat, 0n)).toBe(0n)
  expect(balances.received ?? 0n).toBeGreaterThanOrEqual(0n)
  expect(hold.status === 'settled').toBe((balances.received ?? 0n) > 0n)
  const isBorne = loss?.status === 'borne'
  expect(owedMsat(balances)).toBe((hold.status === 'settled' || isBorne) && !payout.paid ? SELLER_MSAT : 0n)
  // The operator bears only an amount that no buyer has paid.
  expect(balances['operator-loss'] ?? 0n).toBe(isBorne ? SELLER_MSAT : 0n)
  expect(!isBorne || hold.status === 'cancelled').toBe(true)
}

function checkDecisions(facts: readonly SettlementFact[]): void {
  const types = facts.map(({ type }) => type)
  const count = (type: SettlementFact['type']): number => types.filter((other) => other === type).length
  const settling = types.indexOf('SettlementStarted')
  expect(settling < 0 ? [] : types.slice(settling)).not.toContain('CancelRequested')
  // A hold that is settling is cancelled only with an incident: the node cancelled it, or the settlement was missed.
  expect(settling < 0 || !types.includes('HoldCancelled') || types.includes('IncidentRecorded')).toBe(true)
  expect(count('HoldSettled') === 0 || count('HoldCancelled') === 0).toBe(true)
  for (const type of [
    'HoldRequested',
    'HoldIssued',
    'HoldHeld',
    'SettlementStarted',
    'SettlementMissed',
    'LossBorne',
    'HoldSettled',
    'PayoutSucceeded',
  ] as const)
    expect(count(type)).toBeLessThanOrEqual(1)
  // A payout starts only after the previous payout is known to have failed.
  expect(count('PayoutRequested') - count('PayoutFailed') - count('PayoutSucceeded')).toBeGreaterThanOrEqual(0)
  expect(count('PayoutRequested') - count('PayoutFailed')).toBeLessThanOrEqual(1)
}
