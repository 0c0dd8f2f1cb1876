import { accountMsat, type Book, isOnTheChainAlone } from './books.ts'
import { promisedOf } from './promised.ts'
import { heldAtMarket, type Invoice, type Truth } from './truth.ts'

const SOLD = new Set(['VALID_CHANNEL_OPENING', 'CHANNEL_MONITORING_FINISHED'])

/**
 * Every statement about money that has to hold once nothing is under way any more, checked against the network's own
 * memory. `undone`: outpoints whose fundings were taken out of the chain once the money was. @returns a sentence for each that does not
 */
export function moneyFaults(
  books: readonly Book[],
  truth: Truth,
  gainedMsat: bigint,
  undone: ReadonlySet<string> = new Set(),
): readonly string[] {
  const invoices = new Map(truth.invoices.map((invoice) => [`${invoice.node}/${invoice.payment_hash}`, invoice]))
  return [
    ...books.flatMap((book) => [...holdFaults(book, truth, invoices, undone), ...payoutFaults(book, truth, invoices)]),
    ...strangeMoney(books, truth),
    ...heldFaults(books, truth),
    ...ledgerFaults(books, truth, gainedMsat),
  ]
}

function holdFaults(
  book: Book,
  truth: Truth,
  invoices: ReadonlyMap<string, Invoice>,
  undone: ReadonlySet<string>,
): readonly string[] {
  const faults: string[] = []
  const fault = (what: string): number => faults.push(`order ${book.id} (${book.status ?? 'no status'}): ${what}`)
  const paid = truth.payments.filter((payment) => book.hashes.includes(payment.payment_hash) && payment.state === 'succeeded')
  const [settled] = book.settled
  if (book.settled.length > 1) fault('its hold was settled twice')
  if (SOLD.has(book.status ?? '') !== (settled !== undefined)) fault(settled ? 'settled, and not sold' : 'sold, and not settled')
  if (!settled) {
    if (paid.length > 0) fault('the buyer has paid, and no fact says so')
    if (book.lost.length > 0) channelFaults(book, truth, undone).forEach(fault)
    return faults
  }
  const states = book.hashes.map((hash) => invoices.get(`${truth.market}/${hash}`)?.state)
  if (!states.includes('settled')) fault(`settled by the facts; the node shows its invoice ${states.join()}`)
  if (book.cancelled.length > 0 && states.length === 1) fault('settled and cancelled')
  const receivedMsat = paid.reduce((sum, { amount_msat }) => sum + amount_msat, 0n)
  if (receivedMsat !== BigInt(settled.receivedMsat))
    fault(`${settled.receivedMsat} msat by the facts, ${receivedMsat} by the network`)
  if (book.invoicedMsat !== book.priceMsat)
    fault(`its invoice was over ${book.invoicedMsat} msat, its price is ${book.priceMsat}`)
  if (receivedMsat < book.priceMsat) fault(`the buyer paid ${receivedMsat} msat, less than its price of ${book.priceMsat}`)
  if (book.proven.length === 0) fault('settled without a proof')
  channelFaults(book, truth, undone).forEach(fault)
  return faults
}

/** The buyer's money was taken, or the operator pays in its place, so the channel has to be there as it was sold. */
function channelFaults(book: Book, { channels }: Truth, undone: ReadonlySet<string>): readonly string[] {
  const { noted, proven, destination, sizeSat, isPrivate } = book
  const outpoint = proven.at(-1)?.outpoint ?? noted?.outpoint
  const channel = channels.get(outpoint ?? '')
  if (!channel) return [`the network has no channel ${outpoint}`]
  return [
    ...(noted?.outpoint === outpoint ? [] : [`${noted?.outpoint} was noted last, ${outpoint} was proven`]),
    ...(channel.b === destination || isOnTheChainAlone(book)
      ? []
      : [`its channel leads to ${channel.b}, not to the buyer ${destination}`]),
    ...(channel.a === noted?.terms.sellerPubkey ? [] : [`its channel was opened by ${channel.a}`]),
    ...(channel.capacity_sat === sizeSat ? [] : [`its channel has ${channel.capacity_sat} sat, not ${sizeSat}`]),
    ...((channel.is_private === 1n) === isPrivate ? [] : ['its channel is not as private or public as it was sold']),
    ...(channel.state === 'published' && (channel.funding_height !== null || undone.has(channel.outpoint))
      ? []
      : [`its channel is ${channel.state} and unconfirmed`]),
  ]
}

/** Whoever opened the channel has what it was promised, once; or its buyer, where that is owed to it. Nobody else has anything. */
function payoutFaults(book: Book, truth: Truth, invoices: ReadonlyMap<string, Invoice>): readonly string[] {
  const faults: string[] = []
  const fault = (what: string): number => faults.push(`order ${book.id}: ${what}`)
  const settledThere = [...book.offered.values()].filter(
    ({ payee, paymentHash }) => invoices.get(`${payee}/${paymentHash}`)?.state === 'settled',
  )
  const owed = book.settled.length + book.lost.length > 0 ? 1 : 0
  if (settledThere.length !== owed) fault(`${settledThere.length} payout invoices are paid at the sellers, not ${owed}`)
  if (book.paid.length !== owed) fault(`${book.paid.length} payouts by the facts, not ${owed}`)
  const [paid] = book.paid
  if (!paid) return faults
  const payment = truth.payments.find((one) => one.payer === truth.market && one.payment_hash === paid.paymentHash)
  if (payment?.state !== 'succeeded') fault(`its payout is ${payment?.state ?? 'unknown'} at our node`)
  const invoice = book.offered.get(paid.paymentHash)
  const creditor = book.closed.length > 0 ? 'buyer' : 'seller'
  if (book.closed.length > 1) fault('its payable was closed twice')
  if (invoice?.creditor !== creditor) fault(`its payout went to the ${invoice?.creditor}, and was owed to the ${creditor}`)
  const payee = creditor === 'buyer' ? invoice?.payee : book.noted?.terms.sellerPubkey
  if (payment?.payee !== payee) fault(`its payout went to ${payment?.payee}`)
  const promised = promisedOf(book, book.noted?.attempt ?? 0)
  const gotMsat = payment?.amount_msat ?? -1n
  if (!promised || gotMsat < promised.leastMsat || gotMsat > (promised.mostMsat ?? BigInt(book.noted?.sellerAmountMsat ?? -1)))
    fault(
      `its payout was ${gotMsat} msat; promised are ${promised?.leastMsat} at the least, ${promised?.mostMsat ?? book.noted?.sellerAmountMsat} at the most`,
    )
  if (payment?.fee_msat !== BigInt(paid.feeMsat))
    fault(`its payout cost ${payment?.fee_msat} msat on its way, ${paid.feeMsat} by the facts`)
  return faults
}

/** Money that moved at the market's node and belongs to no order, and channels that were sold twice. */
function strangeMoney(books: readonly Book[], truth: Truth): readonly string[] {
  const holds = new Set(books.filter(({ settled }) => settled.length > 0).flatMap(({ hashes }) => hashes))
  const payouts = new Set(books.flatMap(({ paid }) => paid.map(({ paymentHash }) => paymentHash)))
  const outpoints = books.flatMap(({ settled, proven }) => (settled.length > 0 ? [proven.at(-1)?.outpoint] : []))
  const twice = outpoints.filter((outpoint, index) => outpoints.indexOf(outpoint) !== index)
  return [
    ...truth.invoices
      .filter(({ node, state, payment_hash }) => node === truth.market && state === 'settled' && !holds.has(payment_hash))
      .map(({ payment_hash }) => `the market's node settled ${payment_hash}, and no order says so`),
    ...truth.payments
      .filter(({ payer, state, payment_hash }) => payer === truth.market && state === 'succeeded' && !payouts.has(payment_hash))
      .map(({ payment_hash, payee }) => `the market paid ${payment_hash} to ${payee}, and no order says so`),
    ...twice.map((outpoint) => `${outpoint} was sold twice`),
  ]
}

/** In the end only buyers who have not paid and leases are waited for, so nothing may hang at the market's node. */
function heldFaults(books: readonly Book[], truth: Truth): readonly string[] {
  const closed = new Set(
    books.filter(({ settled, cancelled }) => settled.length + cancelled.length > 0).flatMap(({ hashes }) => hashes),
  )
  return [
    ...truth.held
      .filter(({ payment_hash }) => closed.has(payment_hash))
      .map(({ payment_hash }) => `${payment_hash} still hangs, and its order has ended`),
    ...heldAtMarket(truth).map(({ payment_hash, expiry_height }) =>
      Number(expiry_height) - GUARD_BLOCKS < truth.height
        ? `${payment_hash} is held at height ${truth.height}, and ends at ${expiry_height}`
        : `${payment_hash} hangs at the market, and nothing goes on with it`,
    ),
  ]
}

/** By then the guard has settled or cancelled. */
const GUARD_BLOCKS = 24

function ledgerFaults(books: readonly Book[], truth: Truth, gainedMsat: bigint): readonly string[] {
  const postedMsat = accountMsat(books, 'received') + accountMsat(books, 'paid-out')
  const feesMsat = truth.payments
    .filter(({ payer, state }) => payer === truth.market && state === 'succeeded')
    .reduce((sum, { fee_msat }) => sum + fee_msat, 0n)
  const allMsat = books.flatMap(({ entries }) => entries).reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)
  return [
    ...(allMsat === 0n ? [] : [`the ledger is off by ${allMsat} msat`]),
    ...(postedMsat === gainedMsat ? [] : [`the market's node gained ${gainedMsat} msat, and its ledger says ${postedMsat}`]),
    ...(accountMsat(books, 'routing-cost') === feesMsat
      ? []
      : [`payouts cost ${feesMsat} msat, by the ledger ${accountMsat(books, 'routing-cost')}`]),
    ...(accountMsat(books, 'owed-to-buyer') === 0n ? [] : [`buyers are still owed ${-accountMsat(books, 'owed-to-buyer')} msat`]),
    ...(accountMsat(books, 'payable') === 0n ? [] : [`sellers are still owed ${-accountMsat(books, 'payable')} msat`]),
  ]
}
