import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { EvidenceData, SettlementFact } from '@penstock/contracts/settlement.ts'
import { accept } from '@penstock/kernel/decider.ts'
import { ppmOf } from '@penstock/kernel/money.ts'
import { must } from '@penstock/kernel/result.ts'
import { HOUR_MS, SECOND_MS } from '@penstock/kernel/time.ts'
import { confirmationsOf, judged } from './judged.ts'
import { feeTakenMsat, owedMsat, paidPosting } from './ledger.ts'
import { type Payout, type PayoutInvoice, REORGED } from './payout.ts'
import { type CommandOf, type Data, evolve, type Settlement, type SettlementDecision } from './state.ts'

const FIRST_WAIT_MS = 15 * SECOND_MS
const LONGEST_WAIT_MS = 6 * HOUR_MS

export function givePayoutInvoice(state: Settlement, { at, data }: CommandOf<'GivePayoutInvoice'>): SettlementDecision {
  const { request, paymentHash, payee, amountMsat, expiresAt } = data
  const { invoices, refused } = state.payout
  if (invoices[paymentHash] || refused.includes(paymentHash)) return givenAgain(state.payout, data)
  const reason = faultOf(state, data, at)
  return reason === undefined
    ? accept({ type: 'PayoutInvoiceOffered', v: 1, data: { request, paymentHash, payee, amountMsat, expiresAt } })
    : accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/**
 * A hash counts once, but an order that forgot it, since another seller's turn came first, waits for an answer as the first
 * time. A repetition of the same question has the same id and never comes here.
 */
function givenAgain({ invoices, usable }: Payout, data: Data<'GivePayoutInvoice'>): SettlementDecision {
  const { paymentHash, request, payee } = data
  const known = invoices[paymentHash]
  const isSame = known?.request === request
  // Its claim is on its way, and answers this too.
  if (isSame && known.fate === 'offered') return accept()
  if (isSame && usable[payee] === paymentHash) return accept({ type: 'PayoutInvoiceTaken', v: 1, data: { paymentHash } })
  const reason = 'This payment hash was given before; make a new invoice.'
  return accept({ type: 'PayoutInvoiceRefused', v: 1, data: { paymentHash, reason } })
}

/** The order looked at it for its seller; what money depends on is looked at again, in the invoice itself. */
function faultOf({ hold, payout }: Settlement, data: Data<'GivePayoutInvoice'>, at: number): string | undefined {
  if (payout.paid) return 'This order is paid out already.'
  if (hold.status === 'cancelling' || hold.status === 'cancelled')
    return 'The payment of this order was released; nothing is paid out.'
  const invoice = decodePaymentRequest(data.request)
  if (!invoice) return 'This is no payment request; give a BOLT 11 invoice of your node.'
  if (invoice.network !== data.network) return `The invoice is for ${invoice.network}; give one for ${data.network}.`
  if (invoice.paymentHash !== data.paymentHash) return 'The invoice has another payment hash than it was announced with.'
  if (invoice.payee !== data.payee) return 'The invoice is not of the node that sold the channel.'
  if (invoice.amountMsat === undefined || `${invoice.amountMsat}` !== data.amountMsat)
    return 'The invoice is not for the exact amount of the payout.'
  return invoice.expiresAt <= at ? 'The invoice has expired.' : undefined
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
  const newest = usable[invoices[paymentHash]?.payee ?? '']
  return newest !== undefined && given.indexOf(newest) > given.indexOf(paymentHash)
}

/** A stale deadline still asks: what is due and waits for nothing is paid whenever somebody looks. */
export function retryPayout(state: Settlement, { data }: CommandOf<'RetryPayout'>): SettlementDecision {
  const { retryAt } = state.payout
  if (retryAt !== null && retryAt !== data.deadline) return accept()
  return thenPay({ ...state, payout: { ...state.payout, retryAt: null } }, [], data.routingFeeLimitPpm)
}

/** Looks, on a block after settling, whether the seller may be paid. Nothing that shows now takes the settlement back. */
export function watchPayout(
  state: Settlement,
  evidence: EvidenceData,
  { height, routingFeeLimitPpm }: Data<'Guard'> & { readonly at: number },
): SettlementDecision {
  const { hold, payout } = state
  const { request, noted } = hold
  if (!request || !noted || payout.paid) return accept()
  const incident = incidentOf(state, evidence, height)
  if (incident.length > 0) return accept(...incident)
  if (payout.released) return accept()

  const confirmations = confirmationsOf(evidence)
  const verdict = judged(noted.terms, evidence, { lastHeight: false })
  // An announcement says that both nodes still stand by the channel; what was broken it does not mend.
  const unbroken = payout.incidents.every((what) => what === REORGED)
  const announced = unbroken && verdict.verdict === 'valid' && verdict.peer === 'graph'
  const waits = payout.withheldUntilHeight !== null && height < payout.withheldUntilHeight && !announced
  if (waits || confirmations < request.payoutConfirmations || (verdict.verdict === 'undecided' && verdict.waitingFor === 'spend'))
    return accept()
  return thenPay(state, [{ type: 'PayoutReleased', v: 1, data: { atHeight: height, confirmations } }], routingFeeLimitPpm)
}

/** What the chain takes back after the money was settled: noted once, shown, and the payout waits. */
function incidentOf({ hold, payout }: Settlement, evidence: EvidenceData, height: number): readonly SettlementFact[] {
  const { request, noted } = hold
  if (!request || !noted || payout.paying) return []
  const note = (what: string, reason: string, blocks: number) => incidentFacts(payout, { what, reason, height, blocks })
  if (confirmationsOf(evidence) === 0)
    return note(
      REORGED,
      'The funding transaction is no longer in a block; the payout waits until it is buried again.',
      request.payoutConfirmations,
    )
  const verdict = judged(noted.terms, evidence, { lastHeight: false })
  if (verdict.verdict !== 'wrong') return []
  return note(verdict.reason === 'spent' ? 'funding-spent' : 'terms-broken', verdict.sentence, request.withheldBlocks)
}

type Incident = { readonly what: string; readonly reason: string; readonly height: number; readonly blocks: number }

function incidentFacts(
  { incidents, withheldUntilHeight }: Payout,
  { what, reason, height, blocks }: Incident,
): readonly SettlementFact[] {
  if (incidents.includes(what)) return []
  // A wait that is longer already stays as long as it is.
  const untilHeight = Math.max(height + blocks, withheldUntilHeight ?? 0)
  return [
    { type: 'IncidentNoted', v: 1, data: { what, height } },
    { type: 'PayoutWithheld', v: 1, data: { reason, untilHeight } },
  ]
}

/** Costs the seller time while it is still owed something; a payment that is under way goes on. */
export function recordPromiseBroken(
  { hold, payout }: Settlement,
  { data }: CommandOf<'RecordPromiseBroken'>,
): SettlementDecision {
  const { sentence, height } = data
  if (hold.status !== 'settled' || !hold.request || payout.paid) return accept()
  const blocks = hold.request.withheldBlocks
  return accept(...incidentFacts(payout, { what: 'promise-broken', reason: sentence, height, blocks }))
}

export function recordPayout(state: Settlement, { at, data }: CommandOf<'RecordPayout'>): SettlementDecision {
  const { hold, payout } = state
  const { paying } = payout
  if (!paying || paying.attempt !== data.attempt) return accept()
  const { attempt, paymentHash } = paying
  if (data.state === 'succeeded') {
    const sellerAmountMsat = BigInt(hold.noted?.sellerAmountMsat ?? 0)
    const feeMsat = BigInt(data.feeMsat)
    const paidHash = data.paymentHash ?? paymentHash
    must(paidHash === paymentHash || payout.invoices[paidHash], 'what was paid is an invoice of this order')
    return accept<SettlementFact>(
      { type: 'PayoutSucceeded', v: 1, data: { attempt, paymentHash: paidHash, feeMsat: data.feeMsat } },
      paidPosting({ sellerAmountMsat, feeMsat }),
    )
  }
  // Another try may find a way; an invoice that its own node refuses will not get better, and one that was replaced
  // meanwhile is not tried again: the other is asked for at once, and sent when nobody can be at the first any more.
  const isReplaced = payout.usable[hold.noted?.terms.sellerPubkey ?? ''] !== paymentHash
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 20))
  const retryAt = data.status === 'NO_ROUTE' && !isReplaced ? at + wait : null
  const failed = { attempt, paymentHash, status: data.status, reason: data.reason, retryAt }
  return thenPay(state, [{ type: 'PayoutFailed', v: 1, data: failed }], data.routingFeeLimitPpm)
}

/** The facts, and the intent to pay where they make it due. */
function thenPay(state: Settlement, facts: readonly SettlementFact[], routingFeeLimitPpm: number): SettlementDecision {
  const after = facts.reduce(evolve, state)
  const { hold, payout, balances } = after
  const sellerAmountMsat = owedMsat(balances)
  const isDue =
    hold.status === 'settled' &&
    payout.released &&
    !payout.paid &&
    !payout.paying &&
    payout.retryAt === null &&
    sellerAmountMsat > 0n
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

/** @returns the invoice that the seller of the noted outpoint can be paid to; undefined: it has to give one */
export function payableInvoice({ hold, payout, balances }: Settlement): PayoutInvoice | undefined {
  const hash = payout.usable[hold.noted?.terms.sellerPubkey ?? '']
  const invoice = hash === undefined ? undefined : payout.invoices[hash]
  // An invoice of another amount was meant for another attempt of the same seller.
  return invoice?.amountMsat === `${owedMsat(balances)}` ? invoice : undefined
}
