import { decodePaymentRequest, explainUnpayable } from '@penstock/bitcoin/bolt11.ts'
import type { Creditor, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept, refuse } from '@penstock/kernel/decider.ts'
import { ppmOf } from '@penstock/kernel/money.ts'
import { assert } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { feeTakenMsat, owedMsat, paidPosting, sellerPaidLatePosting } from './ledger.ts'
import { mayPayBoth, type SettlementPayout, type PayoutInvoice, payeeKey, SELLER_PAID_INCIDENT } from './payout.ts'
import {
  type CommandOf,
  type SettlementCommandData,
  evolve,
  isOwing,
  type Settlement,
  type SettlementDecision,
} from '../state.ts'

const FIRST_RETRY_DELAY_MS = 15 * SECOND_MS
/** Each refused invoice is a fact. */
const MAX_REFUSED_INVOICES = 50
const MAX_RETRY_DELAY_MS = 6 * HOUR_MS

export const submitPayoutInvoice = (state: Settlement, { at, data }: CommandOf<'SubmitPayoutInvoice'>): SettlementDecision =>
  submitInvoice(state, data, 'seller', at)

/** Accepts the buyer's invoice if the seller's share is owed to the buyer. A payment hash counts once for both creditors. */
export const submitRefundInvoice = (state: Settlement, { at, data }: CommandOf<'SubmitRefundInvoice'>): SettlementDecision =>
  data.isProven
    ? submitInvoice(state, data, 'buyer', at)
    : refuse(
        'NOT_PROVEN',
        'The invoice has no valid proof: it needs the preimage of the payment, or "penstock payout refund" with the decision key.',
      )

type SubmittedInvoice = SettlementCommandData<'SubmitPayoutInvoice'>

function submitInvoice(state: Settlement, given: SubmittedInvoice, creditor: Creditor, at: number): SettlementDecision {
  const { request, paymentHash, payee, amountMsat, expiresAt } = given
  const { invoices, refused } = state.payout
  if (invoices[paymentHash] || refused.includes(paymentHash)) return submitKnownInvoice(state.payout, given, creditor)
  // The order limits the invoices of its seller. A buyer can send any number of invoices.
  if (creditor === 'buyer' && refused.length >= MAX_REFUSED_INVOICES)
    return refuse('TOO_MANY_INVOICES', 'Too many invoices of this order were refused; ask the operator.')
  const reason = findInvoiceFault(state, given, creditor, at)
  return reason === undefined
    ? accept({ type: 'PayoutInvoiceSubmitted', v: 2, data: { request, paymentHash, payee, amountMsat, expiresAt, creditor } })
    : accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/**
 * Answers an invoice with a known payment hash, which counts once. An order may submit the invoice again in a later attempt of
 * the same seller, and waits for an answer. The runtime drops redelivered commands, except from an earlier release.
 */
function submitKnownInvoice(
  { invoices, usable }: SettlementPayout,
  given: SubmittedInvoice,
  creditor: Creditor,
): SettlementDecision {
  const { paymentHash, request, payee } = given
  const known = invoices[paymentHash]
  const isSame = known?.request === request
  // The claim of this hash is not answered yet, and its answer covers this command too.
  if (isSame && known.state === 'submitted') return accept()
  if (isSame && usable[payeeKey({ creditor, payee })] === paymentHash)
    return accept({ type: 'PayoutInvoiceAccepted', v: 1, data: { paymentHash } })
  const reason = 'This payment hash was given before; make a new invoice.'
  return accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/** The order has checked the invoice for its seller; the fields that affect money are checked again in the invoice itself. */
function findInvoiceFault(
  { hold, payout, balances, loss }: Settlement,
  data: SubmittedInvoice,
  creditor: Creditor,
  at: number,
): string | undefined {
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
  if (invoice.payee === hold.request?.node)
    return "The invoice is of the market's own node, which cannot pay itself; give another."
  if (invoice.payee !== data.payee) return 'The invoice is not of the node that sold the channel.'
  if (invoice.amountMsat === undefined || `${invoice.amountMsat}` !== data.amountMsat)
    return 'The invoice is not for the exact amount of the payout.'
  return invoice.expiresAt <= at ? 'The invoice has expired.' : explainUnpayable(invoice)
}

export function recordPayhash(state: Settlement, { data }: CommandOf<'RecordPayhash'>): SettlementDecision {
  const { paymentHash, granted, routingFeeLimitPpm } = data
  if (state.payout.invoices[paymentHash]?.state !== 'submitted') return accept()
  const refused = (reason: string): SettlementDecision =>
    accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
  if (!granted) return refused('This payment hash was used for another order; make a new invoice.')
  if (isReplaced(state.payout, paymentHash)) return refused('It was replaced by a newer one.')
  return requestDuePayout(state, [{ type: 'PayoutInvoiceAccepted', v: 1, data: { paymentHash } }], routingFeeLimitPpm)
}

/** Answers to two claims arrive in any order. @returns whether a newer invoice of the same creditor is already accepted */
function isReplaced({ invoices, usable }: SettlementPayout, paymentHash: string): boolean {
  const given = Object.keys(invoices)
  const invoice = invoices[paymentHash]
  const newest = invoice && usable[payeeKey(invoice)]
  return newest !== undefined && given.indexOf(newest) > given.indexOf(paymentHash)
}

/** A stale deadline still counts if no retry is planned, because a due payout is then paid at once. */
export function retryPayout(state: Settlement, { data }: CommandOf<'RetryPayout'>): SettlementDecision {
  const { retryAt } = state.payout
  if (retryAt !== null && retryAt !== data.deadline) return accept()
  return requestDuePayout({ ...state, payout: { ...state.payout, retryAt: null } }, [], data.routingFeeLimitPpm)
}

export function recordPayout(state: Settlement, { at, data }: CommandOf<'RecordPayout'>): SettlementDecision {
  const { payout, balances } = state
  const { paying } = payout
  if (!paying || paying.attempt !== data.attempt) return accept()
  const { attempt, paymentHash } = paying
  if (data.state === 'succeeded') {
    const feeMsat = BigInt(data.feeMsat)
    const paidHash = data.paymentHash ?? paymentHash
    const paidInvoice = payout.invoices[paidHash]
    assert(paidHash === paymentHash || paidInvoice, 'the paid invoice is an invoice of this order')
    if (paidInvoice && paidInvoice.creditor !== payout.creditor)
      return recordSellerPaidLate(payout, paying, {
        amountMsat: BigInt(paidInvoice.amountMsat),
        feeMsat,
        height: data.height ?? 0,
      })
    return accept<SettlementFact>(
      { type: 'PayoutSucceeded', v: 1, data: { attempt, paymentHash: paidHash, feeMsat: data.feeMsat } },
      paidPosting({ creditor: payout.creditor, owedMsat: owedMsat(balances), feeMsat }),
    )
  }
  // Another attempt may find a route, but an invoice that its own node refuses is not retried. A replaced invoice is not retried
  // either: the newer invoice is requested at once, and paid when no process can still pay the replaced invoice.
  const isReplaced = payout.usable[creditorKey(state)] !== paymentHash
  const delayMs = Math.min(MAX_RETRY_DELAY_MS, FIRST_RETRY_DELAY_MS * 2 ** Math.min(attempt - 1, 20))
  const retryAt = data.status === 'NO_ROUTE' && !isReplaced ? at + delayMs : null
  const failed = { attempt, paymentHash, status: data.status, reason: data.reason, retryAt }
  return requestDuePayout(state, [{ type: 'PayoutFailed', v: 1, data: failed }], data.routingFeeLimitPpm)
}

/**
 * Records that a payment to the seller arrived after its share was owed to the buyer. The debt to the buyer remains, and the
 * operator has lost the seller's amount. Nothing is paid until an operator retries the payout.
 */
function recordSellerPaidLate(
  { incidents }: SettlementPayout,
  { attempt, paymentHash }: { readonly attempt: number; readonly paymentHash: string },
  { amountMsat, feeMsat, height }: { readonly amountMsat: bigint; readonly feeMsat: bigint; readonly height: number },
): SettlementDecision {
  const reason = 'An earlier payment reached the seller; an operator decides whether the buyer is paid too.'
  const failed: SettlementFact = {
    type: 'PayoutFailed',
    v: 1,
    data: { attempt, paymentHash, status: 'NO_ROUTE', reason, retryAt: null },
  }
  return incidents.includes(SELLER_PAID_INCIDENT)
    ? accept(failed)
    : accept<SettlementFact>(
        failed,
        { type: 'IncidentRecorded', v: 1, data: { what: SELLER_PAID_INCIDENT, height } },
        sellerPaidLatePosting({ amountMsat, feeMsat }),
      )
}

/** Requests the next attempt at once for an operator, if there is an invoice and no payment is in progress. */
export function retryPayoutNow(state: Settlement, { data }: CommandOf<'RetryPayoutNow'>): SettlementDecision {
  const { by, reason, routingFeeLimitPpm } = data
  const { payout } = state
  if (!isOwing(state)) return refuse('NOTHING_OWED', 'Nothing is to be paid out for this order.')
  if (payout.paying) return refuse('PAYOUT_UNDER_WAY', 'The payout is under way; its outcome is checked continuously.')
  if (!payout.released) return refuse('WITHHELD', 'The payout is withheld, or waits for its confirmations.')
  if (!payableInvoice(state)) return refuse('NO_INVOICE', 'There is no invoice to pay; the creditor has to give one.')
  return requestDuePayout(state, [{ type: 'PayoutRetryRequested', v: 1, data: { by, reason } }], routingFeeLimitPpm)
}

/** Accepts the facts, and requests the payout if they make it due. */
export function requestDuePayout(
  state: Settlement,
  facts: readonly SettlementFact[],
  routingFeeLimitPpm: number,
): SettlementDecision {
  const after = facts.reduce(evolve, state)
  const { hold, payout, balances } = after
  const sellerAmountMsat = owedMsat(balances)
  const isDue = isOwing(after) && payout.released && !isStopped(payout) && payout.retryAt === null
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

const isStopped = (payout: SettlementPayout): boolean =>
  payout.paid !== null || payout.paying !== null || (payout.incidents.includes(SELLER_PAID_INCIDENT) && !mayPayBoth(payout))

/** Key of the creditor whose invoice counts: the seller of the recorded outpoint, or the buyer. */
const creditorKey = ({ hold, payout: { creditor } }: Settlement): string =>
  payeeKey({ creditor, payee: hold.registered?.terms.sellerPubkey ?? '' })

/** @returns the creditor's invoice that can be paid; undefined if the creditor has to give one */
export function payableInvoice(state: Settlement): PayoutInvoice | undefined {
  const { payout, balances } = state
  const hash = payout.usable[creditorKey(state)]
  const invoice = hash === undefined ? undefined : payout.invoices[hash]
  // An invoice of another amount was meant for another attempt of the same seller.
  return invoice?.amountMsat === `${owedMsat(balances)}` ? invoice : undefined
}
