import assert from 'node:assert/strict'
import type { LedgerEntry } from '@penstock/contracts/settlement.ts'
import { createOrderModel, type OrderModel } from './order-model.ts'
import type { FinalState } from './final-checks.ts'
import type { RoundSales } from './purchases.ts'
import type { NetworkChannel, NetworkInvoice, NetworkPayment, NetworkState } from './network-state.ts'

/** A final state that also has the results of purchases. */
export type FinalStateWithSales = FinalState & { readonly sales: RoundSales }

export type StateMutation = (state: FinalStateWithSales) => FinalStateWithSales
/** The name of a mutation, the mutation, and a pattern that the reported violation has to match. */
export type CheckerMutation = readonly [string, StateMutation, RegExp]

const MARKET = `02${'aa'.repeat(32)}`
const BUYER = `02${'bb'.repeat(32)}`
const SELLER = `02${'cc'.repeat(32)}`
const HEIGHT = 200
const SIZE_SAT = 1_000_000n
const [PRICE_MSAT, PAYOUT_MSAT, FEE_MSAT] = [5_000_000n, 4_000_000n, 10n]

const postEntries = (entries: Readonly<Partial<Record<LedgerEntry['account'], bigint>>>): readonly LedgerEntry[] =>
  Object.entries(entries).map(([account, msat]) => ({ account, amountMsat: `${msat}` }) as LedgerEntry) // By its type.

/** Returns a payment hash for the hold or the payout of an order. */
const hashOf = (purpose: 'hold' | 'payout', number: number): string => `${purpose === 'hold' ? '0' : '1'}${number}`.repeat(32)

/** Creates an order that was paid, sold and paid out. */
const createSale = (number: number, source: OrderModel['source']): OrderModel => {
  const terms = { sellerPubkey: SELLER, buyerPubkey: BUYER, capacitySat: `${SIZE_SAT}`, isPrivate: false, rails: false }
  const outpoint = `${`${number}f`.repeat(32)}:0`
  const payoutHash = hashOf('payout', number)
  const promises = {
    baseFeeSat: `${PAYOUT_MSAT / 1000n}`,
    feeRatePpm: 0,
    baseFeeCapSat: '0',
    feeRateCapPpm: 0,
    minBlockLength: 0,
    onchainPriority: 'LOW',
    onchainMultiplier: 0,
  } as const
  const seller = { offerId: 'offer', sellerPubkey: SELLER, sellerAccountId: 'account', rails: false, promises }
  return {
    ...createOrderModel(`order-${number}`),
    status: 'VALID_CHANNEL_OPENING',
    source,
    destination: BUYER,
    sizeSat: SIZE_SAT,
    paymentHashes: [hashOf('hold', number)],
    priceMsat: PRICE_MSAT,
    invoicedMsat: PRICE_MSAT,
    sellers: new Map([[1, { ...seller, sellerAmountMsat: `${PAYOUT_MSAT}` }]]),
    isHeld: true,
    registeredOutpoint: {
      attempt: 1,
      outpoint,
      terms: { ...terms, heldAtHeight: 1, requiredConfirmations: 1 },
      sellerAmountMsat: `${PAYOUT_MSAT}`,
      attestation: null,
      outpointNumber: 1,
    },
    proofs: [{ outpoint, tipHeight: HEIGHT, confirmations: 3, peer: 'probe', withheld: false }],
    settlements: [{ settledAt: 0, receivedMsat: `${PRICE_MSAT}`, confirmations: 3 }],
    payoutInvoices: new Map([
      [
        payoutHash,
        {
          request: 'lnbc',
          paymentHash: payoutHash,
          payee: SELLER,
          amountMsat: `${PAYOUT_MSAT}`,
          expiresAt: 0,
          creditor: 'seller',
        },
      ],
    ]),
    acceptedInvoices: [payoutHash],
    payouts: [{ attempt: 1, paymentHash: payoutHash, feeMsat: `${FEE_MSAT}` }],
    entries: [
      ...postEntries({ received: PRICE_MSAT, payable: -PAYOUT_MSAT, 'platform-fee': PAYOUT_MSAT - PRICE_MSAT }),
      ...postEntries({ payable: PAYOUT_MSAT, 'routing-cost': FEE_MSAT, 'paid-out': -PAYOUT_MSAT - FEE_MSAT }),
    ],
  }
}

/** Creates an order whose hold was cancelled. `isHeld`: the buyer had paid. */
const createCancelledOrder = (number: number, status: OrderModel['status'], isHeld: boolean): OrderModel => ({
  ...createOrderModel(`order-${number}`),
  status,
  source: 'buy',
  destination: BUYER,
  paymentHashes: [hashOf('hold', number)],
  isHeld,
  isCancelled: true,
  expiryHeight: isHeld ? HEIGHT - 10 : undefined,
  cancellations: [{ at: 0, reason: isHeld ? 'released' : 'expired', verdict: null, sentence: 'x' }],
})

/** Creates a state without violations: two sales, an unpaid order, and an order whose held payment was cancelled. */
export function createFinalState(): FinalStateWithSales {
  const sales = [createSale(1, 'buy'), createSale(2, 'lsps1-cheapest')]
  const unsold = [
    createCancelledOrder(3, 'BUYER_FAILED_TO_PAY', false),
    createCancelledOrder(4, 'SELLER_FAILED_TO_OPEN_CHANNEL', true),
  ]
  const orders = [...sales, ...unsold]
  const boughtIds = orders.map(({ id }) => id)
  const begunMsat = 1_000_000_000n
  const noFunds = { begun_msat: begunMsat, miners_msat: 0n, routed_msat: 0n, ended_msat: 0n }
  const gainedMsat = computeGainMsat(orders)
  return {
    exitCode: 0,
    pendingWork: sales.map(({ id }) => ({ stream: `channel-${id}`, party: 'the end of the lease', step: 'deadline recheck' })),
    orders,
    parked: [],
    auditReport: { divergences: 0, ledger_balanced: true },
    networkState: createNetworkState(sales, unsold),
    gainedMsat,
    nodeFunds: [
      { pubkey: MARKET, alias: 'market', ...noFunds },
      { pubkey: BUYER, alias: 'buyer', ...noFunds },
      { pubkey: SELLER, alias: 'seller-ada', ...noFunds },
    ],
    balances: new Map([
      ['market', begunMsat + gainedMsat],
      ['buyer', begunMsat - 2n * PRICE_MSAT],
      ['seller-ada', begunMsat + 2n * PAYOUT_MSAT],
    ]),
    uptime: [{ from: 50, to: 150 }],
    blocks: Array.from({ length: HEIGHT }, (_, index) => ({ height: index + 1, time: 1000 * (index + 1) })),
    unreadFacts: [],
    rowDifferences: [],
    sales: { round: 3, plannedCount: boughtIds.length, boughtIds, refusals: [] },
  }
}

function createNetworkState(sales: readonly OrderModel[], unsold: readonly OrderModel[]): NetworkState {
  const holdInvoice = ({ paymentHashes: [hash = ''] }: OrderModel, state: string): NetworkInvoice => ({
    node: MARKET,
    role: 'market',
    payment_hash: hash,
    amount_msat: PRICE_MSAT,
    state,
  })
  return {
    height: HEIGHT,
    marketPubkey: MARKET,
    payments: sales.flatMap((order): readonly NetworkPayment[] => [
      {
        payer: BUYER,
        payee: MARKET,
        payment_hash: order.paymentHashes[0] ?? '',
        amount_msat: PRICE_MSAT,
        fee_msat: 0n,
        state: 'succeeded',
      },
      {
        payer: MARKET,
        payee: SELLER,
        payment_hash: getPayoutHash(order),
        amount_msat: PAYOUT_MSAT,
        fee_msat: FEE_MSAT,
        state: 'succeeded',
      },
    ]),
    channels: new Map(
      sales.map(({ registeredOutpoint }) => {
        const outpoint = registeredOutpoint?.outpoint ?? ''
        const channel = { outpoint, a: SELLER, b: BUYER, capacity_sat: SIZE_SAT, is_private: 0n, state: 'published' }
        return [outpoint, { ...channel, funding_height: 100n, is_spent: 0n }]
      }),
    ),
    invoices: [
      ...sales.map((order) => holdInvoice(order, 'settled')),
      ...unsold.map((order) => holdInvoice(order, 'cancelled')),
      ...sales.map((order) => ({
        ...holdInvoice(order, 'settled'),
        node: SELLER,
        role: 'seller',
        payment_hash: getPayoutHash(order),
      })),
    ],
    heldHtlcs: [],
  }
}

export const computeGainMsat = (orders: readonly OrderModel[]): bigint =>
  orders
    .flatMap(({ entries }) => entries)
    .filter(({ account }) => account === 'received' || account === 'paid-out')
    .reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)

export const findOrder = (
  orders: readonly OrderModel[],
  description: string,
  matches: (order: OrderModel) => boolean,
): OrderModel => {
  const order = orders.find(matches)
  assert.ok(order, `no order ${description} in all rounds`)
  return order
}
/** Whether the order was sold by its first invoice and with a peer proof. */
const isSoldWithProof = ({ settlements, proofs, paymentHashes }: OrderModel): boolean =>
  settlements.length > 0 && proofs.at(-1)?.peer !== null && paymentHashes.length === 1
export const findSoldOrder = (orders: readonly OrderModel[]): OrderModel => findOrder(orders, 'was sold', isSoldWithProof)
export const findUnpaidOrder = (orders: readonly OrderModel[]): OrderModel =>
  findOrder(orders, 'stayed unpaid', ({ status, isHeld }) => status === 'BUYER_FAILED_TO_PAY' && !isHeld)
export const getPayoutHash = ({ payouts }: OrderModel): string => payouts[0]?.paymentHash ?? assert.fail()

export const withOrder = (state: FinalStateWithSales, order: OrderModel, mutate: Partial<OrderModel>): FinalStateWithSales => {
  const orders = state.orders.map((one) => (one.id === order.id ? { ...one, ...mutate } : one))
  return { ...state, orders, gainedMsat: computeGainMsat(orders) }
}
/** Changes one sold order. */
export const mutateSoldOrder =
  (mutate: (order: OrderModel) => Partial<OrderModel>): StateMutation =>
  (state) => {
    const order = findSoldOrder(state.orders)
    return withOrder(state, order, mutate(order))
  }
/** Adds ledger entries to one sold order. @param changes amounts in msat by account */
export const addLedgerEntries = (changes: Readonly<Partial<Record<LedgerEntry['account'], number>>>): StateMutation =>
  mutateSoldOrder(({ entries }) => ({
    entries: [
      ...entries,
      // The cast is safe because the type of `changes` contains only account names.
      ...Object.entries(changes).map(([account, msat]) => ({ account, amountMsat: `${msat}` }) as LedgerEntry),
    ],
  }))
export const withNetworkState = (state: FinalStateWithSales, mutate: Partial<NetworkState>): FinalStateWithSales => ({
  ...state,
  networkState: { ...state.networkState, ...mutate },
})
export const mutateChannel =
  (mutate: (order: OrderModel) => Partial<NetworkChannel>): StateMutation =>
  (state) => {
    const order = findSoldOrder(state.orders)
    const outpoint = order.proofs.at(-1)?.outpoint ?? ''
    const channel = state.networkState.channels.get(outpoint)
    assert.ok(channel)
    const changed = { ...channel, ...mutate(order) }
    return withNetworkState(state, { channels: new Map([...state.networkState.channels, [outpoint, changed]]) })
  }
export const mutatePayments = (
  state: FinalStateWithSales,
  paymentHashes: readonly string[],
  mutate: (payment: NetworkPayment) => Partial<NetworkPayment>,
): FinalStateWithSales => {
  const { payments } = state.networkState
  const changed = payments.map((one) => (paymentHashes.includes(one.payment_hash) ? { ...one, ...mutate(one) } : one))
  return withNetworkState(state, { payments: changed })
}
/** Changes the network's record of the payout of one sold order. */
export const mutatePayout =
  (mutate: (payment: NetworkPayment) => Partial<NetworkPayment>): StateMutation =>
  (state) =>
    mutatePayments(state, [getPayoutHash(findSoldOrder(state.orders))], mutate)
export const mutateInvoice = (state: FinalStateWithSales, hash: string, mutate: Partial<NetworkInvoice>): FinalStateWithSales => {
  const { invoices } = state.networkState
  return withNetworkState(state, { invoices: invoices.map((one) => (one.payment_hash === hash ? { ...one, ...mutate } : one)) })
}
