import { openTemporaryNetwork, type TemporaryNetwork } from '@penstock/adapters/simnet/temporary-network.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkBalances, readNodeFundsFrom } from '../../support/invariants/balances.ts'
import { buildNetworkState } from '../../support/invariants/network-state.ts'
import type { FoldedLog } from './folded-log.ts'
import { createMoneyCheck } from './money.ts'

let createDatabase: TemporaryNetwork
beforeEach(() => {
  createDatabase = openTemporaryNetwork({
    nodes: (['market', 'buyer', 'seller'] as const).map((role) => ({ alias: role, role, walletSat: 10_000_000n })),
    topology: [
      { from: 'buyer', to: 'market', capacitySat: 1_000_000n },
      { from: 'market', to: 'seller', capacitySat: 1_000_000n },
    ],
  })
})
afterEach(() => createDatabase.drop())

type TestFact = { readonly type: SettlementFact['type']; readonly data: object }

/** Creates a check of one order's settlement stream, whose facts have only the fields that the check reads. */
function createCheck(...facts: readonly TestFact[]): () => void {
  const events = facts.map((fact) => ({ category: 'settlement', aggregateId: 'an order', fact }) as unknown as Event)
  const log: FoldedLog = { events, catchUp: () => undefined, state: () => undefined, pendingSteps: () => [] }
  return createMoneyCheck(createDatabase.simnet(), pubkeyOf('market'), log)
}

const pubkeyOf = (alias: string): string =>
  createDatabase
    .simnet()
    .control.nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''

describe('the money check of postings', () => {
  const posted = (msat: bigint): TestFact => ({
    type: 'LedgerPosted',
    data: {
      posting: 'settled',
      entries: [
        { account: 'received', amountMsat: '1000' },
        { account: 'payable', amountMsat: `${msat}` },
      ],
    },
  })

  test('accepts a balanced posting', () => expect(createCheck(posted(-1000n))).not.toThrow())
  test('reports a posting that is off by one msat', () => expect(createCheck(posted(-999n))).toThrow('every posting is balanced'))
})

const seller = { creditor: 'seller' } as const
const buyer = { creditor: 'buyer' } as const

describe('the money check of payouts', () => {
  const paid = (promisedMsat: bigint, { creditor }: { creditor: 'seller' | 'buyer' } = seller): readonly TestFact[] => {
    const { control } = createDatabase.simnet()
    const { invoice, payment_hash: paymentHash } = control.invoice('seller', 1000n, 3600)
    expect(control.pay('market', invoice).state).toBe('SUCCEEDED')
    return [
      { type: 'OutpointRegistered', data: { sellerAmountMsat: `${promisedMsat}` } },
      { type: 'PayoutInvoiceSubmitted', data: { paymentHash, creditor } },
      { type: 'PayoutInvoiceAccepted', data: { paymentHash } },
    ]
  }

  test('accepts a payout of the promised amount to the seller', () => expect(createCheck(...paid(1_000_000n))).not.toThrow())
  test.each([999_999n, 1_000_001n])('reports a payout of 1,000,000 msat if the market promised %d', (msat) =>
    expect(createCheck(...paid(msat))).toThrow('paid the promised amount'),
  )

  const closed: TestFact = { type: 'PayableClosed', data: { height: 1, reason: 'x' } }
  const refuted: TestFact = { type: 'LossRefuted', data: { height: 1, reason: 'x', by: null } }
  const payoutDecided = (to: string): TestFact => ({ type: 'PayoutDecided', data: { to, by: 'operator', reason: 'x' } })
  const MSAT = 1_000_000n

  test('accepts a payout to the buyer if the buyer is the creditor', () =>
    expect(createCheck(...paid(MSAT, buyer), payoutDecided('buyer'), closed)).not.toThrow())
  test.each([
    ['the buyer if the seller is the creditor', buyer, []],
    ['the seller if the buyer is the creditor', seller, [closed]],
    ['the seller after a loss was refuted', seller, [refuted]],
  ] as const)('reports a payout to %s', (_, to, facts) =>
    expect(createCheck(...paid(MSAT, to), ...facts)).toThrow('paid to the creditor'),
  )
  test('reports payouts to both the seller and the buyer', () =>
    expect(createCheck(...paid(MSAT), ...paid(MSAT, buyer), closed)).toThrow('paid once'))
  test("reports a seller's share with two creditors", () => expect(createCheck(closed, refuted)).toThrow('one creditor'))
  test('reports a decision after a decision against the seller', () => {
    for (const to of ['seller', 'buyer'] as const)
      expect(createCheck(payoutDecided('buyer'), payoutDecided(to))).toThrow('decided against the seller once')
    expect(createCheck(payoutDecided('seller'), payoutDecided('buyer'))).not.toThrow()
  })
})

describe('the money check of settlements', () => {
  const CAPACITY_SAT = 100_000n
  const settled = async (change: { outpoint?: string; capacitySat?: string; sellerPubkey?: string }) => {
    const { control, lightning } = createDatabase.simnet()
    const { outpoint } = control.open('seller', pubkeyOf('buyer'), CAPACITY_SAT)
    const [preimage, { holds }] = ['07'.repeat(32), lightning('market')]
    const paymentHash = paymentHashOf(preimage)
    const request = { paymentHash, amountMsat: 50_000n, cltvDelta: 144, expirySeconds: 3600, description: '' }
    control.pay('buyer', (await holds.create(request)).request)
    expect(await holds.settle(preimage)).toBe('settled')
    const terms = {
      sellerPubkey: change.sellerPubkey ?? pubkeyOf('seller'),
      capacitySat: change.capacitySat ?? `${CAPACITY_SAT}`,
    }
    return createCheck(
      { type: 'HoldRequested', data: { paymentHash, amountMsat: '50000000' } },
      { type: 'OutpointRegistered', data: { outpoint, terms, sellerAmountMsat: '1' } },
      { type: 'SettlementStarted', data: { proof: { outpoint: change.outpoint ?? outpoint } } },
    )
  }

  test('accepts a settlement of the hold for the sold channel', async () => expect(await settled({})).not.toThrow())
  test.each([
    ['an outpoint without a channel', { outpoint: `${'ab'.repeat(32)}:0` }],
    ['a channel that is too small', { capacitySat: `${CAPACITY_SAT + 1n}` }],
    ['a channel of another node', { sellerPubkey: '02'.repeat(33) }],
  ])('reports a settlement for %s', async (_, change) => expect(await settled(change)).toThrow('settled only for a channel'))
})

describe('checkBalances', () => {
  const violations = (): readonly string[] => {
    const { control, rows } = createDatabase.simnet()
    const funds = readNodeFundsFrom((sql) => rows(sql))
    const { nodes } = control.balances()
    const balances = new Map(nodes.map(({ alias, onChainMsat, channelMsat }) => [alias, onChainMsat + channelMsat]))
    return checkBalances([], buildNetworkState((sql) => rows(sql)).payments, funds, balances)
  }

  test('accepts channels that were opened, closed, or lost because their funding was removed', () => {
    const { control } = createDatabase.simnet()
    const open = () => control.open('seller', pubkeyOf('buyer'), 100_000n).outpoint
    const txidOf = (outpoint: string): string => outpoint.split(':')[0] ?? ''
    const closed = open()
    control.mine(6)
    control.close(closed, { force: true })
    expect(violations()).toEqual([])
    control.mine(1)
    control.forget(txidOf(open()))
    expect(violations()).toEqual([])
    control.doubleSpend(txidOf(open()))
    control.mine(1)
    expect(violations()).toEqual([])
  })

  test('reports one msat that moved from a seller to a buyer without a payment', () => {
    const { control, rows } = createDatabase.simnet()
    const { outpoint } = control.open('seller', pubkeyOf('buyer'), 100_000n)
    control.mine(6)
    rows(`UPDATE channels SET a_msat = a_msat - 1, b_msat = b_msat + 1 WHERE outpoint = '${outpoint}'`)
    expect(violations()).toEqual([expect.stringMatching(/^buyer has /), expect.stringMatching(/^seller has /)])
    // A close rounds the balances to satoshis. The difference of one msat is still reported.
    control.close(outpoint, { force: true })
    control.mine(1)
    expect(violations()).toHaveLength(2)
  })
})
