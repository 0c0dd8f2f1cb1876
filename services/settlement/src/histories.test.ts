import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import { settlement as contract } from '@penstock/contracts/settlement.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { owedMsat } from './ledger.ts'
import {
  attestation,
  E,
  evidence,
  EXPIRES,
  HASH,
  held,
  limit,
  nodeView,
  NOW,
  node,
  noted,
  OUTPOINT,
  payoutInvoice,
  SELLER_MSAT,
  stranger,
  terms,
  unseen,
} from './samples.contract.ts'
import { settlement } from './settlement.ts'
import { settlementProcess } from './settlement.process.ts'
import type { Settlement, SettlementCommand } from './state.ts'

/** Commands in any order, as a bus, a node, a chain and three other services might send them. */
type Wish = SettlementCommand extends infer C ? (C extends SettlementCommand ? Pick<C, 'type' | 'data'> : never) : never
const OTHER = `${'00'.repeat(32)}:0`
const invoices = [
  payoutInvoice(),
  payoutInvoice({ paymentHash: '01'.repeat(32) }),
  payoutInvoice({ amountMsat: 1n, paymentHash: '02'.repeat(32) }),
  payoutInvoice({ by: 2, paymentHash: '03'.repeat(32) }),
]
const spentBy = { txid: 'ee'.repeat(32), height: 902 }
const seen = [
  evidence(),
  evidence({ tipHeight: 906 }),
  evidence({ tipHeight: 2000 }),
  evidence({ graph: null, probe: 'reached' }),
  evidence({ graph: null }),
  evidence({ output: null }),
  evidence({}, { spentBy }),
  evidence({ tipHeight: 2000 }, { spentBy }),
  evidence({}, { valueSat: '1' }),
  null,
]
const from = <T>(...values: readonly T[]) => fc.constantFrom(...values)
const outpoint = from(OUTPOINT, OUTPOINT, OTHER)
const attempt = fc.integer({ min: 1, max: 4 })
const height = from(855, 903, 906, 950, E - 25, E - 24, E, 1912, 2500)
const invoice = from(...invoices)
const data = <T extends Wish['type']>(type: T, of: fc.Arbitrary<Extract<Wish, { type: T }>['data']>): fc.Arbitrary<Wish> =>
  of.map((value) => ({ type, data: value }) as Wish) // the type with its own data

const wish: fc.Arbitrary<Wish> = fc.oneof(
  { weight: 4, arbitrary: data('IssueHold', from({ ...terms, ...nodeView })) },
  { weight: 4, arbitrary: data('RecordIssued', from({ invoice: 'lnbcrt1', expiresAt: EXPIRES })) },
  {
    weight: 4,
    arbitrary: data('RecordHeld', from(...[null, null, null, stranger].map((crowdedPeer) => ({ ...held, crowdedPeer })))),
  },
  {
    weight: 4,
    arbitrary: data(
      'NoteOutpoint',
      fc
        .record({
          at: height,
          to: outpoint,
          signed: from(null, attestation),
          attempt,
          confirmed: from(null, null, 851, 850),
          entered: from(null, null, NOW - 1, NOW),
          naming: fc.nat(3),
        })
        .map((n) => ({
          ...noted,
          attempt: n.attempt,
          outpoint: n.to,
          naming: n.naming,
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
        .map((g) => ({ ...g, lookedAt: 0, ...limit })),
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
      { deadline: EXPIRES, paymentHash: HASH, held, node },
      { deadline: EXPIRES, paymentHash: HASH, held: null, node: 'another' },
      { deadline: 1, paymentHash: HASH, held: null, node },
    ),
  ),
  data('RecordSettleMissed', from({ height: E - 13 }, { height: E - 12 })),
  data('RecordCancelled', from({ at: NOW, unmade: false }, { at: NOW, unmade: true })),
  data('RecordNodeCancelled', from({ at: NOW, height: 985 }, { at: EXPIRES, height: 900 })),
  {
    weight: 3,
    arbitrary: data(
      'GivePayoutInvoice',
      invoice.map((i) => ({ ...i, network: 'regtest' as const })),
    ),
  },
  {
    weight: 3,
    arbitrary: data(
      'RecordPayhash',
      fc
        .record({ i: invoice, granted: from(true, true, false) })
        .map(({ i, granted }) => ({ paymentHash: i.paymentHash, granted, ...limit })),
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
            ? { state: 'succeeded' as const, attempt: n, feeMsat: '10', ...limit }
            : { state: 'failed' as const, attempt: n, status, reason: 'x', ...limit },
        ),
    ),
  },
  data('RecordPromiseBroken', fc.record({ sentence: from('x'), height })),
  data('RetryPayout', from({ deadline: NOW + 15_000, ...limit }, { deadline: NOW + 30_000, ...limit })),
)

const commandOf = (wanted: Wish): SettlementCommand => ({ id: 'c', at: NOW, ...wanted })
const factsOf = (state: Settlement, wanted: Wish): readonly SettlementFact[] => {
  const decision = settlement.decide(state, commandOf(wanted))
  return 'facts' in decision ? decision.facts : []
}

/** A usual beginning makes the deep states likely. */
const begun: readonly Wish[] = [
  { type: 'IssueHold', data: { ...terms, ...nodeView } },
  { type: 'RecordIssued', data: { invoice: 'lnbcrt1', expiresAt: EXPIRES } },
  { type: 'RecordHeld', data: { ...held, crowdedPeer: null } },
  { type: 'NoteOutpoint', data: { ...noted, height: 855, ...unseen } },
  { type: 'SettleHold', data: { outpoint: OUTPOINT } },
  { type: 'Guard', data: { height: 903, outpoint: OUTPOINT, evidence: evidence(), lookedAt: 0, nodeReady: true, ...limit } },
  { type: 'RecordSettled', data: { settledAt: NOW, receivedMsat: '5000000' } },
]
const history = fc
  .tuple(fc.integer({ min: 0, max: begun.length }), fc.array(wish, { maxLength: 40 }))
  .map(([count, rest]) => [...begun.slice(0, count), ...rest])

test('on random histories: all facts fold, a command decided twice adds nothing, and no money is lost or made', () => {
  fc.assert(
    fc.property(history, (wishes) => {
      const facts: SettlementFact[] = []
      let state = settlement.initial
      for (const wanted of wishes) {
        const news = factsOf(state, wanted)
        state = news.reduce(settlement.evolve, state)
        facts.push(...news)
        // An order that gives an invoice again, under another id, is answered again.
        expect(wanted.type === 'GivePayoutInvoice' ? [] : factsOf(state, wanted)).toEqual([])
        settlementProcess(state, 'order')
        for (const { type, data: shape } of news) contract.facts[type].schema.parse(shape)
      }
      moneyIsKept(state)
      decisionsAreKept(facts)
    }),
    { numRuns: 1500 },
  )
})

function moneyIsKept({ balances, payout, hold, loss }: Settlement): void {
  expect(Object.values(balances).reduce((sum, amountMsat) => sum + amountMsat, 0n)).toBe(0n)
  expect(balances.received ?? 0n).toBeGreaterThanOrEqual(0n)
  expect(hold.status === 'settled').toBe((balances.received ?? 0n) > 0n)
  const isBorne = loss?.status === 'borne'
  expect(owedMsat(balances)).toBe((hold.status === 'settled' || isBorne) && !payout.paid ? SELLER_MSAT : 0n)
  // The operator bears what no buyer has paid, and nothing else.
  expect(balances['operator-loss'] ?? 0n).toBe(isBorne ? SELLER_MSAT : 0n)
  expect(!isBorne || hold.status === 'cancelled').toBe(true)
}

function decisionsAreKept(facts: readonly SettlementFact[]): void {
  const types = facts.map(({ type }) => type)
  const count = (type: SettlementFact['type']): number => types.filter((other) => other === type).length
  const settling = types.indexOf('SettleRequested')
  expect(settling < 0 ? [] : types.slice(settling)).not.toContain('CancelRequested')
  // What nobody asked for is given back by the node alone.
  expect(settling < 0 || !types.includes('HoldCancelled') || types.includes('IncidentNoted')).toBe(true)
  expect(count('HoldSettled') === 0 || count('HoldCancelled') === 0).toBe(true)
  for (const type of [
    'HoldRequested',
    'HoldIssued',
    'HoldHeld',
    'SettleRequested',
    'SettleMissed',
    'LossBorne',
    'HoldSettled',
    'PayoutSucceeded',
  ] as const)
    expect(count(type)).toBeLessThanOrEqual(1)
  // A payout begins only after the one before it is known to have failed.
  expect(count('PayoutRequested') - count('PayoutFailed') - count('PayoutSucceeded')).toBeGreaterThanOrEqual(0)
  expect(count('PayoutRequested') - count('PayoutFailed')).toBeLessThanOrEqual(1)
}
