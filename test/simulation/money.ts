import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Simnet } from '@penstock/adapters/simnet/simnet.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { Broken, type Ledger } from './checks.ts'

type Hashed = { readonly payment_hash: string }
type Noted = Extract<SettlementFact, { type: 'OutpointNoted' }>['data']
type Offered = Extract<SettlementFact, { type: 'PayoutInvoiceOffered' }>['data']

/** What the streams of settlement have said so far, by payment hash and by order. */
type Told = {
  readonly orders: Map<string, string>
  readonly offered: Map<string, Offered>
  readonly payouts: Map<string, string>
  readonly noted: Map<string, Noted>
  readonly proven: Map<string, string>
  readonly givenBack: Set<string>
  /** Who is owed the seller's share now; the seller unless it was said otherwise. */
  readonly creditors: Map<string, 'buyer' | 'nobody'>
  /** For whom an operator decided, by order. */
  readonly decided: Map<string, string>
}

/** Looks at what can be said of money at every moment, whatever is under way. @throws Broken, from the look that it gives */
export function moneyAtAnyTime({ rows }: Simnet, market: string, { events }: Ledger): () => void {
  const told: Told = {
    orders: new Map(),
    offered: new Map(),
    payouts: new Map(),
    noted: new Map(),
    proven: new Map(),
    givenBack: new Set(),
    creditors: new Map(),
    decided: new Map(),
  }
  const looked = new Set<string>()
  let seen = 0

  const settledHolds = (): void => {
    for (const { payment_hash } of rows<Hashed>(
      `SELECT payment_hash FROM invoices WHERE node = '${market}' AND state = 'settled'`,
    )) {
      const order = told.orders.get(payment_hash)
      const outpoint = order === undefined ? undefined : told.proven.get(order)
      if (order === undefined || outpoint === undefined)
        throw new Broken('settled only when proven', `${payment_hash} of order ${order ?? 'nobody'} is settled at the node`)
      if (looked.has(order)) continue
      looked.add(order)
      channelIsThere(rows, order, outpoint, told.noted.get(order))
    }
  }
  const heldPayments = (): void => {
    for (const { payment_hash } of rows<Hashed>(
      `SELECT payment_hash FROM htlcs WHERE receiver = '${market}' AND is_last = 1 AND state = 'held'`,
    )) {
      const order = told.orders.get(payment_hash)
      if (order !== undefined && told.givenBack.has(order))
        throw new Broken('given back when it is said so', `${payment_hash} of order ${order} is still held`)
    }
  }

  return () => {
    for (const event of events.slice(seen)) note(told, event)
    seen = events.length
    settledHolds()
    heldPayments()
    payoutsOnce(rows, market, told)
  }
}

/** Each order's share is paid once, as it was promised, and to whom it is owed. */
function payoutsOnce(rows: Simnet['rows'], market: string, told: Told): void {
  const paid = new Map<string, { readonly payment_hash: string; readonly amount_msat: bigint }>()
  for (const { payment_hash, payee, amount_msat } of rows<Hashed & { payee: string; amount_msat: bigint }>(
    `SELECT payment_hash, payee, amount_msat FROM payments WHERE payer = '${market}' AND state = 'succeeded'`,
  )) {
    const order = told.payouts.get(payment_hash)
    if (order === undefined) throw new Broken('paid for an order', `${payment_hash} was paid to ${payee} for nobody's order`)
    const before = paid.get(order)
    if (before !== undefined)
      throw new Broken('paid once', `order ${order} was paid by ${before.payment_hash} and by ${payment_hash}`)
    paid.set(order, { payment_hash, amount_msat })
  }
  for (const [order, { amount_msat }] of paid) {
    const promised = told.noted.get(order)?.sellerAmountMsat
    if (`${amount_msat}` !== promised)
      throw new Broken('paid what was promised', `order ${order} was paid ${amount_msat} msat, ${promised} were promised`)
  }
  for (const [order, { payment_hash }] of paid) {
    const creditor = told.creditors.get(order) ?? 'seller'
    const payee = told.offered.get(payment_hash)?.creditor
    if (payee !== creditor)
      throw new Broken('paid to whom it is owed', `the ${payee} of order ${order} was paid, and it is owed to the ${creditor}`)
  }
}

function note(told: Told, { category, aggregateId: order, fact }: Event): void {
  if (category !== 'settlement') return
  const { type, data } = fact as SettlementFact // the category's own
  switch (type) {
    case 'HoldRequested':
      return void told.orders.set(data.paymentHash, order)
    case 'PayoutInvoiceOffered':
      return void told.offered.set(data.paymentHash, data)
    case 'PayoutInvoiceTaken':
      return void told.payouts.set(data.paymentHash, order)
    case 'OutpointNoted':
      return void told.noted.set(order, data)
    case 'SettleRequested':
      return void told.proven.set(order, data.proof.outpoint)
    case 'HoldCancelled':
      return void told.givenBack.add(order)
    // Made late, or paid late: it is given back once more.
    case 'HoldIssued':
    case 'HoldHeld':
      return void told.givenBack.delete(order)
    case 'PayableClosed':
      return owedOnce(told, order, 'buyer')
    case 'LossRefuted':
      return owedOnce(told, order, 'nobody')
    case 'PayoutDecided':
      if (told.decided.has(order))
        throw new Broken('decided once', `order ${order} went to the ${told.decided.get(order)}, and to the ${data.to}`)
      return void told.decided.set(order, data.to)
    case 'LedgerPosted':
      return balanced(order, data.entries)
    default:
  }
}

/** What was taken from a seller goes to one side. */
function owedOnce({ creditors }: Told, order: string, to: 'buyer' | 'nobody'): void {
  const before = creditors.get(order)
  if (before !== undefined) throw new Broken('owed once', `what was owed to the ${before} of order ${order} is owed to the ${to}`)
  creditors.set(order, to)
}

function balanced(order: string, entries: readonly { readonly amountMsat: string }[]): void {
  const sumMsat = entries.reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)
  if (sumMsat !== 0n) throw new Broken('every posting is balanced', `one of order ${order} is off by ${sumMsat} msat`)
}

type Channel = { readonly a: string; readonly capacity_sat: bigint; readonly state: string }

/** The network's own word at the moment at which the money was first seen to be taken. */
function channelIsThere(rows: Simnet['rows'], order: string, outpoint: string, noted: Noted | undefined): void {
  const [channel] = rows<Channel>(`SELECT a, capacity_sat, state FROM channels WHERE outpoint = '${outpoint}'`)
  const terms = noted?.terms
  const isThere =
    channel?.state === 'published' &&
    channel.a === terms?.sellerPubkey &&
    channel.capacity_sat >= BigInt(terms.capacitySat) &&
    noted?.outpoint === outpoint
  if (!isThere)
    throw new Broken('settled only for a channel', `order ${order} was settled for ${outpoint}, noted is ${noted?.outpoint}`)
}
