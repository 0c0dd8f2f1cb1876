import type { NetworkChannel, NetworkPayment } from './network-state.ts'
import type { OrderModel } from './order-model.ts'

export type BrokenRule = { readonly rule: string; readonly violation: string }

/** The orders as the facts show them, and the payments at the market's node, at any moment. */
export type OngoingMoney = {
  readonly orders: readonly OrderModel[]
  /** Payment hashes of the settled invoices and of the held payments at the market's node. */
  readonly settledHashes: readonly string[]
  readonly heldHashes: readonly string[]
  /** Payments of the market's node that have succeeded. */
  readonly sentPayments: readonly SentPayment[]
}

type SentPayment = Pick<NetworkPayment, 'payment_hash' | 'payee' | 'amount_msat'>

/** Checks the money rules that hold at every moment, even while payments are pending. */
export function findBrokenRules({ orders, settledHashes, heldHashes, sentPayments }: OngoingMoney): readonly BrokenRule[] {
  const holders = new Map(orders.flatMap((order) => order.paymentHashes.map((hash) => [hash, order] as const)))
  return [
    ...orders.flatMap(checkFacts),
    ...settledHashes
      .filter((hash) => !holders.get(hash)?.proofs.length)
      .map((hash) => ({
        rule: 'settled only when proven',
        violation: `${hash} of order ${holders.get(hash)?.id ?? 'nobody'} is settled without a proof`,
      })),
    ...heldHashes
      .filter((hash) => holders.get(hash)?.isCancelled)
      .map((hash) => ({
        rule: 'cancelled orders hold nothing',
        violation: `${hash} of order ${holders.get(hash)?.id} is still held`,
      })),
    ...checkSentPayments(orders, sentPayments),
  ]
}

/**
 * Checks that each order has one creditor, that nothing is decided after a decision against its seller, and that its postings are
 * balanced. A decision for the seller lifts the causes that are due; the payout may be refused, and another cause may follow.
 */
const checkFacts = ({ id, closedPayables, refutedLosses, decisions, unbalancedSums }: OrderModel): readonly BrokenRule[] => [
  ...(closedPayables.length + refutedLosses.length > 1
    ? [{ rule: 'one creditor', violation: `order ${id}: its payable was closed twice` }]
    : []),
  ...(decisions.slice(0, -1).some((to) => to !== 'seller')
    ? [{ rule: 'decided against the seller once', violation: `order ${id} went to the ${decisions.join(' and to the ')}` }]
    : []),
  ...unbalancedSums.map((sumMsat) => ({
    rule: 'every posting is balanced',
    violation: `one of order ${id} is off by ${sumMsat} msat`,
  })),
]

/** Checks that each payment pays an order, once, with the promised amount and to the creditor. */
function checkSentPayments(orders: readonly OrderModel[], sentPayments: readonly SentPayment[]): readonly BrokenRule[] {
  const orderByInvoice = new Map(orders.flatMap((order) => order.acceptedInvoices.map((hash) => [hash, order] as const)))
  const paidOrders = new Map<OrderModel, SentPayment>()
  const broken: BrokenRule[] = []
  const addBroken = (rule: string, violation: string): number => broken.push({ rule, violation })
  for (const payment of sentPayments) {
    const { payment_hash: hash, payee } = payment
    const order = orderByInvoice.get(hash)
    const previous = order && paidOrders.get(order)
    if (!order) addBroken('paid for an order', `${hash} was paid to ${payee} for nobody's order`)
    else if (previous) addBroken('paid once', `order ${order.id} was paid by ${previous.payment_hash} and by ${hash}`)
    else paidOrders.set(order, payment)
  }
  for (const [{ id, registeredOutpoint }, { amount_msat: paidMsat }] of paidOrders)
    if (`${paidMsat}` !== registeredOutpoint?.sellerAmountMsat)
      addBroken(
        'paid the promised amount',
        `order ${id} was paid ${paidMsat} msat, ${registeredOutpoint?.sellerAmountMsat} were promised`,
      )
  for (const [order, { payment_hash: hash }] of paidOrders) {
    const [paid, owed] = [order.payoutInvoices.get(hash)?.creditor, findCreditor(order)]
    if (paid !== owed)
      addBroken('paid to the creditor', `order ${order.id}: its payout went to the ${paid}, and was owed to the ${owed}`)
  }
  return broken
}

/** @returns the creditor of the seller's amount by the facts */
export function findCreditor({ closedPayables, refutedLosses }: OrderModel): 'seller' | 'buyer' | 'nobody' {
  if (refutedLosses.length > 0) return 'nobody'
  return closedPayables.length > 0 ? 'buyer' : 'seller'
}

/** Checks that a settled order has its channel. @param channel the network's record of the channel right after the settlement */
export function checkSoldChannel(
  { id, proofs, registeredOutpoint }: OrderModel,
  channel: Pick<NetworkChannel, 'a' | 'capacity_sat' | 'state'> | undefined,
): readonly BrokenRule[] {
  const outpoint = proofs.at(-1)?.outpoint
  const terms = registeredOutpoint?.terms
  const isAsSold =
    channel?.state === 'published' &&
    channel.a === terms?.sellerPubkey &&
    channel.capacity_sat >= BigInt(terms.capacitySat) &&
    registeredOutpoint?.outpoint === outpoint
  const violation = `order ${id} was settled for ${outpoint}, registered is ${registeredOutpoint?.outpoint}`
  return isAsSold ? [] : [{ rule: 'settled only for a channel', violation }]
}
