import { decodePaymentRequest, unpayable } from '@penstock/bitcoin/bolt11.ts'
import type { Creditor, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { ppmOf } from '@penstock/kernel/money.ts'
import { must } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { feeTakenMsat, owedMsat, paidPosting } from './ledger.ts'
import { type Payout, type PayoutInvoice, payeeOf } from './payout.ts'
import { type CommandOf, type Data, evolve, isOwing, type Settlement, type SettlementDecision } from './state.ts'

const FIRST_WAIT_MS = 15 * SECOND_MS
const LONGEST_WAIT_MS = 6 * HOUR_MS

export const givePayoutInvoice = (state: Settlement, { at, data }: CommandOf<'GivePayoutInvoice'>): SettlementDecision =>
  giveInvoice(state, data, 'seller', at)

/** The buyer's, where the seller's share is owed to it: the same hash counts once, whoever gives it. */
export const giveRefundInvoice = (state: Settlement, { at, data }: CommandOf<'GiveRefundInvoice'>): SettlementDecision =>
  giveInvoice(state, data, 'buyer', at)

type Given = Data<'GivePayoutInvoice'>

function giveInvoice(state: Settlement, given: Given, creditor: Creditor, at: number): SettlementDecision {
  const { request, paymentHash, payee, amountMsat, expiresAt } = given
  const { invoices, refused } = state.payout
  if (invoices[paymentHash] || refused.includes(paymentHash)) return givenAgain(state.payout, given, creditor)
  const reason = faultOf(state, given, creditor, at)
  return reason === undefined
    ? accept({ type: 'PayoutInvoiceOffered', v: 2, data: { request, paymentHash, payee, amountMsat, expiresAt, creditor } })
    : accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/**
 * A hash counts once, but an order that forgot it, since another seller's turn came first, waits for an answer as the first
 * time. A repetition of the same question has the same id and never comes here.
 */
function givenAgain({ invoices, usable }: Payout, given: Given, creditor: Creditor): SettlementDecision {
  const { paymentHash, request, payee } = given
  const known = invoices[paymentHash]
  const isSame = known?.request === request
  // Its claim is on its way, and answers this too.
  if (isSame && known.fate === 'offered') return accept()
  if (isSame && usable[payeeOf({ creditor, payee })] === paymentHash)
    return accept({ type: 'PayoutInvoiceTaken', v: 1, data: { paymentHash } })
  const reason = 'This payment hash was given before; make a new invoice.'
  return accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/** The order looked at it for its seller; what money depends on is looked at again, in the invoice itself. */
function faultOf({ hold, payout, balances, loss }: Settlement, data: Given, creditor: Creditor, at: number): string | undefined {
  if (payout.paid) return 'This order is paid out already.'
  if (payout.creditor !== creditor)
    return creditor === 'seller'
      ? 'The payout of this order was closed; its amount is owed to the buyer.'
      : 'Nothing of this order is owed to its buyer.'
  if (creditor === 'buyer' && data.amountMsat !== `${owedMsat(balances)}`)
    return `The invoice must be for exactly ${owedMsat(balances)} msat.`
  const isReleased = hold.status === 'cancelling' || hold.status === 'cancelled'
  if (isReleased && (loss === null || loss.status === 'refuted'))
    return 'The payment of this order was released; nothing is paid out.'
  const invoice = decodePaymentRequest(data.request)
  if (!invoice) return 'This is no payment request; give a BOLT 11 invoice of your node.'
  if (invoice.network !== data.network) return `The invoice is for ${invoice.network}; give one for ${data.network}.`
  if (invoice.paymentHash !== data.paymentHash) return 'The invoice has another payment hash than it was announced with.'
  if (invoice.payee !== data.payee) return 'The invoice is not of the node that sold the channel.'
  if (invoice.amountMsat === undefined || `${invoice.amountMsat}` !== data.amountMsat)
    return 'The invoice is not for the exact amount of the payout.'
  return invoice.expiresAt <= at ? 'The invoice has expired.' : unpayable(invoice)
}

export function recordPayhash(state: Settlement, { data }: CommandOf<'RecordPayhash'>): SettlementDecision {
  const { paymentHash, granted, routingFeeLimitPpm } = data
  if (state.payout.invoices[paymentHash]?.fate !== 'offered') return accept()
  const refused = (reason: string): SettlementDecision =>
    accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
  if (!granted) return refused('This payment hash was used for another order; make a new invoice.')
  if (isReplaced(state.payout, paymentHash)) return refused('It was replaced by a newer one.')
  return thenPay(state, [{ type: 'PayoutInvoiceTaken', v: 1, data: { paymentHash } }], routingFeeLimitPpm)
}

/** Claims of two hashes are answered in any order. @returns whether the seller has given another since, which counts already */
function isReplaced({ invoices, usable }: Payout, paymentHash: string): boolean {
  const given = Object.keys(invoices)
  const invoice = invoices[paymentHash]
  const newest = invoice && usable[payeeOf(invoice)]
  return newest !== undefined && given.indexOf(newest) > given.indexOf(paymentHash)
}

/** A stale deadline still asks: what is due and waits for nothing is paid whenever somebody looks. */
export function retryPayout(state: Settlement, { data }: CommandOf<'RetryPayout'>): SettlementDecision {
  const { retryAt } = state.payout
  if (retryAt !== null && retryAt !== data.deadline) return accept()
  return thenPay({ ...state, payout: { ...state.payout, retryAt: null } }, [], data.routingFeeLimitPpm)
}

export function recordPayout(state: Settlement, { at, data }: CommandOf<'RecordPayout'>): SettlementDecision {
  const { payout, balances } = state
  const { paying } = payout
  if (!paying || paying.attempt !== data.attempt) return accept()
  const { attempt, paymentHash } = paying
  if (data.state === 'succeeded') {
    const feeMsat = BigInt(data.feeMsat)
    const paidHash = data.paymentHash ?? paymentHash
    must(paidHash === paymentHash || payout.invoices[paidHash], 'what was paid is an invoice of this order')
    return accept<SettlementFact>(
      { type: 'PayoutSucceeded', v: 1, data: { attempt, paymentHash: paidHash, feeMsat: data.feeMsat } },
      paidPosting({ creditor: payout.creditor, owedMsat: owedMsat(balances), feeMsat }),
    )
  }
  // Another try may find a way; an invoice that its own node refuses will not get better, and one that was replaced
  // meanwhile is not tried again: the other is asked for at once, and sent when nobody can be at the first any more.
  const isReplaced = payout.usable[creditorKey(state)] !== paymentHash
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 20))
  const retryAt = data.status === 'NO_ROUTE' && !isReplaced ? at + wait : null
  const failed = { attempt, paymentHash, status: data.status, reason: data.reason, retryAt }
  return thenPay(state, [{ type: 'PayoutFailed', v: 1, data: failed }], data.routingFeeLimitPpm)
}

/** An operator does not wait for the next try. What is under way goes on, and an invoice has to be there. */
export function retryPayoutNow(state: Settlement, { data }: CommandOf<'RetryPayoutNow'>): SettlementDecision {
  const { by, reason, routingFeeLimitPpm } = data
  const { payout } = state
  if (!isOwing(state)) return refuse('NOTHING_OWED', 'Nothing is to be paid out for this order.')
  if (payout.paying) return refuse('PAYOUT_UNDER_WAY', 'The payout is under way; its outcome is looked for all the time.')
  if (!payout.released) return refuse('WITHHELD', 'The payout is withheld, or waits for its confirmations.')
  if (!payableInvoice(state)) return refuse('NO_INVOICE', 'There is no invoice to pay to; whoever is owed has to give one.')
  return thenPay(state, [{ type: 'PayoutRetryRequested', v: 1, data: { by, reason } }], routingFeeLimitPpm)
}

/** The facts, and the intent to pay where they make it due. */
export function thenPay(state: Settlement, facts: readonly SettlementFact[], routingFeeLimitPpm: number): SettlementDecision {
  const after = facts.reduce(evolve, state)
  const { hold, payout, balances } = after
  const sellerAmountMsat = owedMsat(balances)
  const isDue = isOwing(after) && payout.released && !payout.paid && !payout.paying && payout.retryAt === null
  const invoice = payableInvoice(after)
  if (!isDue || !hold.request || !invoice) return accept(...facts)
  const limitMsat = ppmOf(sellerAmountMsat, BigInt(routingFeeLimitPpm))
  const feeMsat = feeTakenMsat({ ...hold.request, sellerAmountMsat })
  const maxFeeMsat = limitMsat < feeMsat ? limitMsat : feeMsat
  const { paymentHash, request } = invoice
  return accept(...facts, {
    type: 'PayoutRequested',
    v: 1,
    data: { attempt: payout.attempts + 1, paymentHash, request, maxFeeMsat: `${maxFeeMsat}` },
  })
}

/** Whose invoice counts: that of the seller of the noted outpoint, or of the buyer. */
const creditorKey = ({ hold, payout: { creditor } }: Settlement): string =>
  payeeOf({ creditor, payee: hold.noted?.terms.sellerPubkey ?? '' })

/** @returns the invoice that the creditor can be paid to; undefined: it has to give one */
export function payableInvoice(state: Settlement): PayoutInvoice | undefined {
  const { payout, balances } = state
  const hash = payout.usable[creditorKey(state)]
  const invoice = hash === undefined ? undefined : payout.invoices[hash]
  // An invoice of another amount was meant for another attempt of the same seller.
  return invoice?.amountMsat === `${owedMsat(balances)}` ? invoice : undefined
}
