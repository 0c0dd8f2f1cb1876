import { checkBalances, type NodeBalances, type NodeFunds } from './balances.ts'
import { sumAccountMsat, type OrderModel, isSettledWithoutPeerProof } from './order-model.ts'
import { computeExpectedPayout } from './expected-payout.ts'
import { findBrokenRules, findCreditor, type BrokenRule } from './money-rules.ts'
import { findHtlcsAtMarket, type NetworkInvoice, type NetworkState } from './network-state.ts'

/** The orders as the facts show them, and the state of the network, at quiescence. */
export type MoneySnapshot = {
  readonly orders: readonly OrderModel[]
  readonly networkState: NetworkState
  /** The change of the balance of the market's node since the beginning. */
  readonly gainedMsat: bigint
  readonly nodeFunds: readonly NodeFunds[]
  readonly balances: NodeBalances
  /** Outpoints whose fundings were removed from the chain after the settlement. */
  readonly reorgedOutpoints?: ReadonlySet<string>
}

const SOLD_STATUSES = new Set(['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'])

/** Checks all money rules: the rules of every moment, the rules of quiescence, and the balances. */
export function checkMoney(snapshot: MoneySnapshot): readonly BrokenRule[] {
  const { orders, networkState, gainedMsat, nodeFunds, balances, reorgedOutpoints = new Set<string>() } = snapshot
  const { invoices, payments, marketPubkey } = networkState
  const invoicesByNode = new Map(invoices.map((invoice) => [`${invoice.node}/${invoice.payment_hash}`, invoice]))
  const violations = [
    ...orders.flatMap((order) => [
      ...checkHold(order, networkState, invoicesByNode, reorgedOutpoints),
      ...checkPayout(order, networkState, invoicesByNode),
    ]),
    ...findUnexplainedMoney(orders, networkState),
    ...checkHeldHtlcs(orders, networkState),
    ...checkLedger(orders, networkState, gainedMsat),
  ]
  return [
    ...findBrokenRules({
      orders,
      settledHashes: invoices
        .filter(({ node, state }) => node === marketPubkey && state === 'settled')
        .map(({ payment_hash }) => payment_hash),
      heldHashes: findHtlcsAtMarket(networkState).map(({ payment_hash }) => payment_hash),
      sentPayments: payments.filter(({ payer, state }) => payer === marketPubkey && state === 'succeeded'),
    }),
    ...violations.map((violation) => ({ rule: 'money', violation })),
    ...checkBalances(orders, payments, nodeFunds, balances).map((violation) => ({ rule: 'balances', violation })),
  ]
}
function checkHold(
  order: OrderModel,
  networkState: NetworkState,
  invoices: ReadonlyMap<string, NetworkInvoice>,
  reorgedOutpoints: ReadonlySet<string>,
): readonly string[] {
  const violations: string[] = []
  const addViolation = (problem: string): number =>
    violations.push(`order ${order.id} (${order.status ?? 'no status'}): ${problem}`)
  const paid = networkState.payments.filter(
    (payment) => order.paymentHashes.includes(payment.payment_hash) && payment.state === 'succeeded',
  )
  const [settlement] = order.settlements
  if (order.settlements.length > 1) addViolation('its hold was settled twice')
  if (SOLD_STATUSES.has(order.status ?? '') !== (settlement !== undefined))
    addViolation(settlement ? 'settled, and not sold' : 'sold, and not settled')
  if (!settlement) {
    if (paid.length > 0) addViolation('the buyer has paid, but no fact records it')
    if (order.losses.length > 0) checkChannel(order, networkState, reorgedOutpoints).forEach(addViolation)
    return violations
  }
  const states = order.paymentHashes.map((hash) => invoices.get(`${networkState.marketPubkey}/${hash}`)?.state)
  if (!states.includes('settled')) addViolation(`settled by the facts; the node shows its invoice ${states.join()}`)
  if (order.cancellations.length > 0 && states.length === 1) addViolation('settled and cancelled')
  const receivedMsat = paid.reduce((sum, { amount_msat }) => sum + amount_msat, 0n)
  if (receivedMsat !== BigInt(settlement.receivedMsat))
    addViolation(`${settlement.receivedMsat} msat by the facts, ${receivedMsat} by the network`)
  if (order.invoicedMsat !== order.priceMsat)
    addViolation(`its invoice requested ${order.invoicedMsat} msat, its price is ${order.priceMsat}`)
  if (receivedMsat < order.priceMsat)
    addViolation(`the buyer paid ${receivedMsat} msat, less than its price of ${order.priceMsat}`)
  checkChannel(order, networkState, reorgedOutpoints).forEach(addViolation)
  return violations
}

/** Checks that the channel exists as sold, because the hold was settled or the operator bears the loss. */
function checkChannel(order: OrderModel, { channels }: NetworkState, reorgedOutpoints: ReadonlySet<string>): readonly string[] {
  const { registeredOutpoint, proofs, destination, sizeSat, isPrivate } = order
  const outpoint = proofs.at(-1)?.outpoint ?? registeredOutpoint?.outpoint
  const channel = channels.get(outpoint ?? '')
  if (!channel) return [`the network has no channel ${outpoint}`]
  return [
    ...(registeredOutpoint?.outpoint === outpoint
      ? []
      : [`${registeredOutpoint?.outpoint} was registered last, ${outpoint} was proven`]),
    ...(channel.b === destination || isSettledWithoutPeerProof(order)
      ? []
      : [`its channel leads to ${channel.b}, not to the buyer ${destination}`]),
    ...(channel.a === registeredOutpoint?.terms.sellerPubkey ? [] : [`its channel was opened by ${channel.a}`]),
    ...(channel.capacity_sat === sizeSat ? [] : [`its channel has ${channel.capacity_sat} sat, not ${sizeSat}`]),
    ...((channel.is_private === 1n) === isPrivate ? [] : ['its channel is not as private or public as it was sold']),
    ...(channel.state === 'published' && (channel.funding_height !== null || reorgedOutpoints.has(channel.outpoint))
      ? []
      : [`its channel is ${channel.state} and unconfirmed`]),
  ]
}

/**
 * Checks that the seller that opened the channel got its promised payout once. If the buyer is the creditor, the buyer must have
 * got it instead.
 */
function checkPayout(
  order: OrderModel,
  networkState: NetworkState,
  invoices: ReadonlyMap<string, NetworkInvoice>,
): readonly string[] {
  const violations: string[] = []
  const addViolation = (problem: string): number => violations.push(`order ${order.id}: ${problem}`)
  const settledInvoices = [...order.payoutInvoices.values()].filter(
    ({ payee, paymentHash }) => invoices.get(`${payee}/${paymentHash}`)?.state === 'settled',
  )
  const expectedPayouts = order.settlements.length + order.losses.length > 0 ? 1 : 0
  if (settledInvoices.length !== expectedPayouts)
    addViolation(`${settledInvoices.length} payout invoices are settled at their nodes, expected ${expectedPayouts}`)
  if (order.payouts.length !== expectedPayouts)
    addViolation(`${order.payouts.length} payouts by the facts, not ${expectedPayouts}`)
  const [paid] = order.payouts
  if (!paid) return violations
  const payment = networkState.payments.find(
    (one) => one.payer === networkState.marketPubkey && one.payment_hash === paid.paymentHash,
  )
  if (payment?.state !== 'succeeded') addViolation(`its payout is ${payment?.state ?? 'unknown'} at our node`)
  const invoice = order.payoutInvoices.get(paid.paymentHash)
  const payee = findCreditor(order) === 'buyer' ? invoice?.payee : order.registeredOutpoint?.terms.sellerPubkey
  if (payment?.payee !== payee) addViolation(`its payout went to ${payment?.payee}`)
  const expected = computeExpectedPayout(order, order.registeredOutpoint?.attempt ?? 0)
  const paidMsat = payment?.amount_msat ?? -1n
  if (
    !expected ||
    paidMsat < expected.minMsat ||
    paidMsat > (expected.maxMsat ?? BigInt(order.registeredOutpoint?.sellerAmountMsat ?? -1))
  )
    addViolation(
      `its payout was ${paidMsat} msat; promised are ${expected?.minMsat} at the least, ${expected?.maxMsat ?? order.registeredOutpoint?.sellerAmountMsat} at the most`,
    )
  if (payment?.fee_msat !== BigInt(paid.feeMsat))
    addViolation(`the routing fee of its payout was ${payment?.fee_msat} msat, ${paid.feeMsat} by the facts`)
  return violations
}

/** Finds money that moved at the market's node but belongs to no order, and channels that were sold twice. */
function findUnexplainedMoney(orders: readonly OrderModel[], networkState: NetworkState): readonly string[] {
  const holds = new Set(
    orders.filter(({ settlements: settlement }) => settlement.length > 0).flatMap(({ paymentHashes }) => paymentHashes),
  )
  const payouts = new Set(orders.flatMap(({ payouts: paid }) => paid.map(({ paymentHash }) => paymentHash)))
  const outpoints = orders.flatMap(({ settlements: settlement, proofs }) =>
    settlement.length > 0 ? [proofs.at(-1)?.outpoint] : [],
  )
  const soldTwice = outpoints.filter((outpoint, index) => outpoints.indexOf(outpoint) !== index)
  return [
    ...networkState.invoices
      .filter(
        ({ node, state, payment_hash }) => node === networkState.marketPubkey && state === 'settled' && !holds.has(payment_hash),
      )
      .map(({ payment_hash }) => `the market's node settled ${payment_hash}, but no order records it`),
    ...networkState.payments
      .filter(
        ({ payer, state, payment_hash }) =>
          payer === networkState.marketPubkey && state === 'succeeded' && !payouts.has(payment_hash),
      )
      .map(({ payment_hash, payee }) => `the market paid ${payment_hash} to ${payee}, but no order records it`),
    ...soldTwice.map((outpoint) => `${outpoint} was sold twice`),
  ]
}

/** Checks that no HTLC is held. At quiescence, orders may wait only for unpaid invoices and for the ends of channel leases. */
function checkHeldHtlcs(orders: readonly OrderModel[], networkState: NetworkState): readonly string[] {
  const closedHashes = new Set(
    orders
      .filter(({ settlements: settlement, cancellations }) => settlement.length + cancellations.length > 0)
      .flatMap(({ paymentHashes }) => paymentHashes),
  )
  return [
    ...networkState.heldHtlcs
      .filter(({ payment_hash }) => closedHashes.has(payment_hash))
      .map(({ payment_hash }) => `${payment_hash} is still held, and its order has ended`),
    ...findHtlcsAtMarket(networkState).map(({ payment_hash, expiry_height }) =>
      Number(expiry_height) - GUARD_BLOCKS < networkState.height
        ? `${payment_hash} is held at height ${networkState.height}, and ends at ${expiry_height}`
        : `${payment_hash} is held at the market without pending work`,
    ),
  ]
}

/** The guard has to settle or cancel a hold this number of blocks before its HTLC expires. */
const GUARD_BLOCKS = 24

function checkLedger(orders: readonly OrderModel[], networkState: NetworkState, gainedMsat: bigint): readonly string[] {
  const postedMsat = sumAccountMsat(orders, 'received') + sumAccountMsat(orders, 'paid-out')
  const feesMsat = networkState.payments
    .filter(({ payer, state }) => payer === networkState.marketPubkey && state === 'succeeded')
    .reduce((sum, { fee_msat }) => sum + fee_msat, 0n)
  const allMsat = orders.flatMap(({ entries }) => entries).reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)
  return [
    ...(allMsat === 0n ? [] : [`the ledger is off by ${allMsat} msat`]),
    ...(postedMsat === gainedMsat ? [] : [`the market's node gained ${gainedMsat} msat, and its ledger says ${postedMsat}`]),
    ...(sumAccountMsat(orders, 'routing-cost') === feesMsat
      ? []
      : [`payouts cost ${feesMsat} msat, by the ledger ${sumAccountMsat(orders, 'routing-cost')}`]),
    ...(sumAccountMsat(orders, 'owed-to-buyer') === 0n
      ? []
      : [`buyers are still owed ${-sumAccountMsat(orders, 'owed-to-buyer')} msat`]),
    ...(sumAccountMsat(orders, 'payable') === 0n ? [] : [`sellers are still owed ${-sumAccountMsat(orders, 'payable')} msat`]),
  ]
}
