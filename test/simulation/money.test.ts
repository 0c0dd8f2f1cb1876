import { scratchSimnet, type Scratch } from '@penstock/adapters/simnet/scratch.ts'
import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { balanceFaults, wealthFrom } from '../faults/balances.ts'
import { truthFrom } from '../faults/truth.ts'
import type { Ledger } from './checks.ts'
import { moneyAtAnyTime } from './money.ts'

let scratch: Scratch
beforeEach(() => {
  scratch = scratchSimnet({
    nodes: (['market', 'buyer', 'seller'] as const).map((role) => ({ alias: role, role, walletSat: 10_000_000n })),
    topology: [
      { from: 'buyer', to: 'market', capacitySat: 1_000_000n },
      { from: 'market', to: 'seller', capacitySat: 1_000_000n },
    ],
  })
})
afterEach(() => scratch.drop())

type Told = { readonly type: SettlementFact['type']; readonly data: object }

/** What one order's stream says; only what the look reads of it. */
function look(...facts: readonly Told[]): () => void {
  const events = facts.map((fact) => ({ category: 'settlement', aggregateId: 'an order', fact }) as unknown as Event)
  const ledger: Ledger = { events, catchUp: () => undefined, state: () => undefined, asking: () => [] }
  return moneyAtAnyTime(scratch.simnet(), pubkeyOf('market'), ledger)
}

const pubkeyOf = (alias: string): string =>
  scratch
    .simnet()
    .control.nodes()
    .find((node) => node.alias === alias)?.pubkey ?? ''

describe('every posting is balanced', () => {
  const posted = (msat: bigint): Told => ({
    type: 'LedgerPosted',
    data: {
      posting: 'settled',
      entries: [
        { account: 'received', amountMsat: '1000' },
        { account: 'payable', amountMsat: `${msat}` },
      ],
    },
  })

  test('one that is', () => expect(look(posted(-1000n))).not.toThrow())
  test('one that is off by a msat', () => expect(look(posted(-999n))).toThrow('every posting is balanced'))
})

const seller = { creditor: 'seller' } as const
const buyer = { creditor: 'buyer' } as const

describe('paid what was promised, to whom it is owed', () => {
  const paid = (promisedMsat: bigint, { creditor }: { creditor: 'seller' | 'buyer' } = seller): readonly Told[] => {
    const { control } = scratch.simnet()
    const { invoice, payment_hash: paymentHash } = control.invoice('seller', 1000n, 3600)
    expect(control.pay('market', invoice).state).toBe('SUCCEEDED')
    return [
      { type: 'OutpointNoted', data: { sellerAmountMsat: `${promisedMsat}` } },
      { type: 'PayoutInvoiceOffered', data: { paymentHash, creditor } },
      { type: 'PayoutInvoiceTaken', data: { paymentHash } },
    ]
  }

  test('who is', () => expect(look(...paid(1_000_000n))).not.toThrow())
  test.each([999_999n, 1_000_001n])('who was promised %d msat and has 1,000,000', (msat) =>
    expect(look(...paid(msat))).toThrow('paid what was promised'),
  )

  const closed: Told = { type: 'PayableClosed', data: { height: 1, reason: 'x' } }
  const refuted: Told = { type: 'LossRefuted', data: { height: 1, reason: 'x', by: null } }
  const decided = (to: string): Told => ({ type: 'PayoutDecided', data: { to, by: 'operator', reason: 'x' } })
  const MSAT = 1_000_000n

  test('a buyer to whom it is owed', () => expect(look(...paid(MSAT, buyer), decided('buyer'), closed)).not.toThrow())
  test.each([
    ['a buyer to whom nothing is owed', buyer, []],
    ['a seller whose share is owed to the buyer', seller, [closed]],
    ['a seller of whom the operator owes nothing', seller, [refuted]],
  ] as const)('%s', (_, to, told) => expect(look(...paid(MSAT, to), ...told)).toThrow('paid to whom it is owed'))
  test('both sides', () => expect(look(...paid(MSAT), ...paid(MSAT, buyer), closed)).toThrow('paid once'))
  test('what is owed to two sides', () => expect(look(closed, refuted)).toThrow('owed once'))
  test('what was decided twice', () => expect(look(decided('seller'), decided('buyer'))).toThrow('decided once'))
})

describe('settled only for a channel', () => {
  const CAPACITY_SAT = 100_000n
  const settled = async (change: { outpoint?: string; capacitySat?: string; sellerPubkey?: string }) => {
    const { control, lightning } = scratch.simnet()
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
    return look(
      { type: 'HoldRequested', data: { paymentHash } },
      { type: 'OutpointNoted', data: { outpoint, terms, sellerAmountMsat: '1' } },
      { type: 'SettleRequested', data: { proof: { outpoint: change.outpoint ?? outpoint } } },
    )
  }

  test('for the one that was sold', async () => expect(await settled({})).not.toThrow())
  test.each([
    ['one that nobody opened', { outpoint: `${'ab'.repeat(32)}:0` }],
    ['one that is smaller', { capacitySat: `${CAPACITY_SAT + 1n}` }],
    ['one that another opened', { sellerPubkey: '02'.repeat(33) }],
  ])('for %s', async (_, change) => expect(await settled(change)).toThrow('settled only for a channel'))
})

describe('balances', () => {
  const faults = (): readonly string[] => {
    const { control, rows } = scratch.simnet()
    const wealth = wealthFrom((sql) => rows(sql))
    const has = control.balances().nodes.map(({ alias, onChainMsat, channelMsat }) => [alias, onChainMsat + channelMsat] as const)
    return balanceFaults([], truthFrom((sql) => rows(sql)).payments, wealth, new Map(has))
  }

  test('channels that were opened, closed, and lost with their funding', () => {
    const { control } = scratch.simnet()
    const open = () => control.open('seller', pubkeyOf('buyer'), 100_000n).outpoint
    const txidOf = (outpoint: string): string => outpoint.split(':')[0] ?? ''
    const closed = open()
    control.mine(6)
    control.close(closed, { force: true })
    expect(faults()).toEqual([])
    control.mine(1)
    control.forget(txidOf(open()))
    expect(faults()).toEqual([])
    control.doubleSpend(txidOf(open()))
    control.mine(1)
    expect(faults()).toEqual([])
  })

  test('a msat that went from a seller to its buyer past every list', () => {
    const { control, rows } = scratch.simnet()
    const { outpoint } = control.open('seller', pubkeyOf('buyer'), 100_000n)
    control.mine(6)
    rows(`UPDATE channels SET a_msat = a_msat - 1, b_msat = b_msat + 1 WHERE outpoint = '${outpoint}'`)
    expect(faults()).toEqual([expect.stringMatching(/^buyer has /), expect.stringMatching(/^seller has /)])
    // The chain rounds it away, and it is asked for all the same.
    control.close(outpoint, { force: true })
    control.mine(1)
    expect(faults()).toHaveLength(2)
  })
})
