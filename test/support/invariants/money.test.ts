import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { checkWallets } from './final-checks.ts'
import {
  computeGainMsat,
  createFinalState,
  type CheckerMutation,
  getPayoutHash,
  findSoldOrder,
  findUnpaidOrder,
  withOrder,
  mutateChannel,
  addLedgerEntries,
  mutateInvoice,
  mutatePayments,
  mutatePayout,
  mutateSoldOrder,
  withNetworkState,
  type FinalStateWithSales,
} from './final-state.fixture.ts'
import type { NetworkHtlc, NetworkPayment } from './network-state.ts'

const FAR_HEIGHT = 9_999_999n
const UNKNOWN_PUBKEY = `02${'ee'.repeat(32)}`

const reduceByOneMsat = ({ amount_msat }: NetworkPayment): Partial<NetworkPayment> => ({ amount_msat: amount_msat - 1n })
const withHeldHtlc = (state: FinalStateWithSales, mutation: Partial<NetworkHtlc>): FinalStateWithSales => {
  const htlc = {
    payment_hash: 'ee'.repeat(32),
    receiver: state.networkState.marketPubkey,
    expiry_height: FAR_HEIGHT,
    is_last: 1n,
    ...mutation,
  }
  return withNetworkState(state, { heldHtlcs: [htlc] })
}

/** Mutations of the sold channel. */
const channelMutations: readonly CheckerMutation[] = [
  ['a channel that does not exist', (state) => withNetworkState(state, { channels: new Map() }), /the network has no channel/],
  ['a channel to another node than the buyer', mutateChannel(() => ({ b: UNKNOWN_PUBKEY })), /not to the buyer/],
  ['a channel that another node opened', mutateChannel(() => ({ a: UNKNOWN_PUBKEY })), /its channel was opened by 02eeee/],
  [
    'a channel that is too small',
    mutateChannel(({ sizeSat }) => ({ capacity_sat: sizeSat - 1n })),
    /its channel has \d+ sat, not/,
  ],
  [
    'a private channel that was sold as public, or the reverse',
    mutateChannel(({ isPrivate }) => ({ is_private: isPrivate ? 0n : 1n })),
    /not as private or public as it was sold/,
  ],
  ['an unconfirmed channel', mutateChannel(() => ({ funding_height: null })), /its channel is published and unconfirmed/],
  ['a channel that its seller has abandoned', mutateChannel(() => ({ state: 'abandoned' })), /its channel is abandoned/],
  [
    'a proof of another channel than the registered one',
    mutateSoldOrder(({ registeredOutpoint }) => ({
      registeredOutpoint: registeredOutpoint && { ...registeredOutpoint, outpoint: `${'ee'.repeat(32)}:0` },
    })),
    /eeee:0 was registered last, \w+:\d+ was proven/,
  ],
  [
    'a channel that was sold twice',
    (state) => {
      const [first, second] = state.orders.filter(({ settlements, proofs }) => settlements.length > 0 && proofs.length > 0)
      assert.ok(first && second)
      return withOrder(state, second, { proofs: first.proofs })
    },
    /^\w+:\d+ was sold twice/,
  ],
]

/** Mutations of the buyer's payment. It must be settled once, for a proven channel. */
const holdMutations: readonly CheckerMutation[] = [
  ['a hold that was settled without a proof', mutateSoldOrder(() => ({ proofs: [] })), /settled without a proof/],
  [
    'a hold that was settled twice',
    mutateSoldOrder(({ settlements }) => ({ settlements: [...settlements, ...settlements] })),
    /its hold was settled twice/,
  ],
  [
    'a hold that was settled and cancelled',
    mutateSoldOrder(() => ({ cancellations: [{ at: 0, reason: 'node', verdict: null, sentence: 'x' }] })),
    /settled and cancelled/,
  ],
  ['an order that was sold and not settled', mutateSoldOrder(() => ({ settlements: [] })), /sold, and not settled/],
  [
    'an order that was settled and not sold',
    mutateSoldOrder(() => ({ status: 'INVALID_CHANNEL_OPENING' })),
    /\(INVALID_CHANNEL_OPENING\): settled, and not sold/,
  ],
  ['a payment that no fact records', mutateSoldOrder(() => ({ settlements: [] })), /the buyer has paid, but no fact records it/],
  [
    'a payment that no fact records, by the balance',
    mutateSoldOrder(() => ({ settlements: [] })),
    /buyer(?:-2)? has \d+ msat, and should have \d+/,
  ],
  [
    'a hold that the node has cancelled, and that is settled by the facts',
    (state) => mutateInvoice(state, findSoldOrder(state.orders).paymentHashes[0] ?? '', { state: 'cancelled' }),
    /settled by the facts; the node shows its invoice cancelled/,
  ],
  [
    'a settled hold without an order',
    (state) => {
      const orders = state.orders.filter(({ settlements }) => settlements.length === 0)
      return { ...state, orders, gainedMsat: computeGainMsat(orders) }
    },
    /the market's node settled \w+, but no order records it/,
  ],
  [
    'a payment of another amount than the facts record',
    mutateSoldOrder(({ settlements }) => ({
      settlements: settlements.map((first) => ({ ...first, receivedMsat: `${BigInt(first.receivedMsat) + 1n}` })),
    })),
    /\d+ msat by the facts, \d+ by the network/,
  ],
  [
    'a buyer that paid too little, with a matching invoice and settlement',
    (state) => {
      const order = findSoldOrder(state.orders)
      const settlements = order.settlements.map((first) => ({ ...first, receivedMsat: `${order.priceMsat - 1n}` }))
      const mutation = { invoicedMsat: order.priceMsat - 1n, settlements }
      return withOrder(mutatePayments(state, order.paymentHashes, reduceByOneMsat), order, mutation)
    },
    /less than its price/,
  ],
  [
    'an invoice over another amount than the price',
    (state) => withOrder(state, findSoldOrder(state.orders), { invoicedMsat: 1n }),
    /its invoice requested 1 msat/,
  ],
]

/** Mutations of the payout. It must pay the seller once, with the promised amount. */
const payoutMutations: readonly CheckerMutation[] = [
  ['a seller that was paid too little', mutatePayout(reduceByOneMsat), /its payout was \d+ msat; promised/],
  [
    'a seller that was paid too little, by a wrong amount of the market',
    (state) => {
      const { registeredOutpoint } = findSoldOrder(state.orders)
      const computedOutpoint = registeredOutpoint && {
        ...registeredOutpoint,
        sellerAmountMsat: `${BigInt(registeredOutpoint.sellerAmountMsat) - 1n}`,
      }
      return mutateSoldOrder(() => ({ registeredOutpoint: computedOutpoint }))(mutatePayout(reduceByOneMsat)(state))
    },
    /its payout was \d+ msat; promised/,
  ],
  [
    'a seller that was paid too much',
    mutatePayout(({ amount_msat }) => ({ amount_msat: amount_msat + 1n })),
    /its payout was \d+ msat; promised/,
  ],
  ['a payout that went to another node', mutatePayout(() => ({ payee: UNKNOWN_PUBKEY })), /its payout went to 02eeee/],
  ['a payout that has failed', mutatePayout(() => ({ state: 'failed' })), /its payout is failed at our node/],
  [
    'a payout that its seller never received',
    (state) => mutateInvoice(state, getPayoutHash(findSoldOrder(state.orders)), { state: 'open' }),
    /0 payout invoices are settled at their nodes, expected 1/,
  ],
  [
    'a seller that was paid for an unpaid order',
    (state) => withOrder(state, findUnpaidOrder(state.orders), { payoutInvoices: findSoldOrder(state.orders).payoutInvoices }),
    /1 payout invoices are settled at their nodes, expected 0/,
  ],
  ['a payout that no fact records', mutateSoldOrder(() => ({ payouts: [] })), /0 payouts by the facts, not 1/],
  [
    'a payout that is recorded twice',
    mutateSoldOrder(({ payouts }) => ({ payouts: [...payouts, ...payouts] })),
    /2 payouts by the facts, not 1/,
  ],
  [
    'a seller that was paid twice',
    (state) => {
      const hash = getPayoutHash(findSoldOrder(state.orders))
      const payment = state.networkState.payments.find(
        (first) => first.payment_hash === hash && first.payer === state.networkState.marketPubkey,
      )
      assert.ok(payment)
      return withNetworkState(state, {
        payments: [...state.networkState.payments, { ...payment, payment_hash: 'ff'.repeat(32) }],
      })
    },
    /the market paid f{64} to \w+, but no order records it/,
  ],
  [
    'a payout with a higher routing fee than the facts record',
    mutatePayout(({ fee_msat }) => ({ fee_msat: fee_msat + 1n })),
    /the routing fee of its payout was \d+ msat, \d+ by the facts/,
  ],
  [
    'a seller that was paid an amount that is owed to the buyer',
    mutateSoldOrder(() => ({ closedPayables: [{ height: 1, reason: 'x' }] })),
    /its payout went to the seller, and was owed to the buyer/,
  ],
  [
    'a payable that was closed twice',
    mutateSoldOrder(() => ({ closedPayables: [1, 2].map((height) => ({ height, reason: 'x' })) })),
    /its payable was closed twice/,
  ],
]

/** Mutations of the ledger or of a balance. The balances must match the ledger. */
const ledgerMutations: readonly CheckerMutation[] = [
  ['a ledger that is off by a millisatoshi', addLedgerEntries({ rounding: 1 }), /the ledger is off by 1 msat/],
  ['a seller that is still owed a millisatoshi', addLedgerEntries({ payable: -1, rounding: 1 }), /sellers are still owed 1 msat/],
  [
    'a buyer that is still owed a millisatoshi',
    addLedgerEntries({ 'owed-to-buyer': -1, rounding: 1 }),
    /buyers are still owed 1 msat/,
  ],
  [
    'payouts that cost a millisatoshi more in the ledger',
    addLedgerEntries({ 'routing-cost': 1, rounding: -1 }),
    /payouts cost \d+ msat, by the ledger \d+/,
  ],
  [
    'a millisatoshi that is missing',
    (state) => ({ ...state, gainedMsat: state.gainedMsat - 1n }),
    /gained \d+ msat, and its ledger says/,
  ],
  ...['buyer', 'seller', 'market'].map((role): CheckerMutation => [
    `a ${role} with a millisatoshi more than the facts explain`,
    (state) => {
      const [alias, msat] = [...state.balances].find(([name]) => name.startsWith(role)) ?? assert.fail()
      return { ...state, balances: new Map([...state.balances, [alias, msat + 1n]]) }
    },
    /\w has \d+ msat, and should have \d+/,
  ]),
]

/** Mutations that add a held HTLC. */
const pendingHtlcMutations: readonly CheckerMutation[] = [
  [
    'a payment of an ended order that is still held',
    (state) => withHeldHtlc(state, { payment_hash: findSoldOrder(state.orders).paymentHashes[0] ?? '', is_last: 0n }),
    /is still held, and its order has ended/,
  ],
  ['a held payment that no fact records', (state) => withHeldHtlc(state, {}), /is held at the market without pending work/],
  [
    'a payment that is held beyond its last height',
    (state) => withHeldHtlc(state, { expiry_height: BigInt(state.networkState.height + 1) }),
    /is held at height \d+, and ends at/,
  ],
]

/** Each check must report its mutation. Otherwise a campaign without violations would prove nothing. */
test.each([...channelMutations, ...holdMutations, ...payoutMutations, ...ledgerMutations, ...pendingHtlcMutations])(
  'checkWallets reports %s',
  (_, mutate, message) => {
    expect(checkWallets(mutate(createFinalState()))).toContainEqual(expect.stringMatching(message))
  },
)
