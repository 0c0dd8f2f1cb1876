import type { OrderTerms, OrderTarget } from '@penstock/contracts/order.ts'
import type { QuoteCommand, QuoteFact, QuoteRefusal } from '@penstock/contracts/quote.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { type Process, sendOnceStep, sentUntil, command } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { serialiseFees } from '@penstock/market/price.ts'
import { toCandidate } from '@penstock/market/rank.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import { chooseOffer, type MarketSnapshot, type RequestQuoteData } from './choose-offer.ts'
import { choosePolicy, type PolicySettings } from './policy.ts'
import { quoteMachine } from './quote.machine.ts'

export type QuoteEnrichment = { RequestQuote: { readonly market: MarketSnapshot; readonly settings: PolicySettings } }
export type EnrichedQuoteCommand = EnrichedCommand<QuoteCommand, QuoteEnrichment>

export type Quote =
  | { readonly status: 'NONE' }
  /** `placeBefore`: the time at which the caller stops waiting; missing if no caller waits, or in facts of older versions. */
  | { readonly status: 'QUOTED'; readonly terms: OrderTerms; readonly placeBefore?: number }
  | { readonly status: 'PLACED' }

const lifecycle = compileLifecycle<Quote['status'], QuoteFact['type']>(quoteMachine)

function evolve(quote: Quote, fact: QuoteFact): Quote {
  if (!lifecycle.after(quote.status, fact.type)) throw new Bug(`${fact.type} cannot follow ${quote.status}`)
  if (fact.type === 'QuotePlaced') return { status: 'PLACED' }
  const { terms, placeBefore } = fact.data
  return { status: 'QUOTED', terms, ...(placeBefore !== undefined && { placeBefore }) }
}

function decide(quote: Quote, command: EnrichedQuoteCommand): Decision<QuoteFact, Refusal<QuoteRefusal>> {
  return quote.status === 'NONE' ? requestQuote(command.data) : accept()
}

function requestQuote({
  market,
  settings,
  ...request
}: RequestQuoteData & QuoteEnrichment['RequestQuote']): Decision<QuoteFact, Refusal<QuoteRefusal>> {
  if (request.usdCents !== null && request.sizeSat !== null)
    return refuse('WRONG_REQUEST', 'Provide either usd_cents or size, not both.')
  const policyResult = choosePolicy(request, settings)
  if ('refused' in policyResult) return policyResult
  const choice = chooseOffer(request, market)
  if ('refused' in choice) return choice
  const { chosen } = choice
  const { policy } = policyResult
  const terms: OrderTerms = {
    source: request.source,
    buyer: request.buyer,
    destination: request.destination,
    isPrivate: request.isPrivate,
    railsOnly: request.railsOnly,
    assetId: request.assetId,
    sellers: request.sellers,
    usdCents: request.usdCents,
    sizeSat: `${chosen.sizeSat}`,
    priceSat: `${chosen.priceSat}`,
    platformFeeMsat: `${chosen.platformFeeMsat}`,
    leastPlatformFeeMsat: `${(chosen.platformFeeMsat * BigInt(100 - settings.failoverFeePercent)) / 100n}`,
    leaseBlocks: chosen.leaseBlocks,
    requiredConfirmations: policy.requiredConfirmations,
    // A price in satoshis needs no rate, so the rate may be null.
    rate: 'rate' in market.currentRate ? market.currentRate.rate : null,
    lsps: request.lsps,
    record: request.record,
    candidate: toCandidate(chosen),
    autoAccepted: chosen.autoAccepted,
    policy,
    // An order that its seller has to accept has no such deadline, because the seller needs time.
    ...(chosen.autoAccepted && request.invoiceBefore !== undefined && { invoiceBefore: request.invoiceBefore }),
  }
  const placeBefore = request.invoiceBefore !== undefined && { placeBefore: request.invoiceBefore }
  return accept({ type: 'Quoted', v: 3, data: { terms, fundingFees: serialiseFees(market.pricing.fees), ...placeBefore } })
}

export const quoteDecider: Decider<Quote, EnrichedQuoteCommand, QuoteFact, Refusal<QuoteRefusal>> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}

/**
 * Places the order with the quoted terms. No acknowledgement follows. If the bus lost the command, or if order drops it because
 * it is late, the buyer gets no invoice, and has not paid.
 */
export const quoteProcess: Process<Quote> = (state, orderId) =>
  state.status === 'QUOTED' ? [sentUntil(sendOnceStep('place', placeOrder(orderId, state.terms)), state.placeBefore)] : []

const placeOrder = (orderId: string, terms: OrderTerms) =>
  command<OrderTarget>('order', orderId, { type: 'PlaceOrder', data: terms })
