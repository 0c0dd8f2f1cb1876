import type { OrderCommand, OrderTerms } from '@penstock/contracts/order.ts'
import type { QuoteCommand, QuoteFact, QuoteRefusal } from '@penstock/contracts/quote.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { type Process, tell } from '@penstock/kernel/process.ts'
import { Bug } from '@penstock/kernel/result.ts'
import { recordFees } from '@penstock/market/price.ts'
import { candidateOf } from '@penstock/market/rank.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import { choose, type Market, type Request } from './choose.ts'
import { policyFor, type PolicySettings } from './policy.ts'
import { quoteMachine } from './quote.machine.ts'

export type QuoteExtra = { RequestQuote: { readonly market: Market; readonly settings: PolicySettings } }
export type QuoteDecides = Enriched<QuoteCommand, QuoteExtra>

export type Quote =
  | { readonly status: 'NONE' }
  | { readonly status: 'QUOTED'; readonly terms: OrderTerms }
  | { readonly status: 'PLACED' }

const lifecycle = compile<Quote['status'], QuoteFact['type']>(quoteMachine)

function evolve(quote: Quote, fact: QuoteFact): Quote {
  if (!lifecycle.after(quote.status, fact.type)) throw new Bug(`${fact.type} cannot follow ${quote.status}`)
  return fact.type === 'Quoted' ? { status: 'QUOTED', terms: fact.data.terms } : { status: 'PLACED' }
}

function decide(quote: Quote, command: QuoteDecides): Decision<QuoteFact, Refusal<QuoteRefusal>> {
  switch (command.type) {
    case 'RequestQuote':
      return quote.status === 'NONE' ? make(command.data) : accept()
    case 'RecordPlaced':
      return quote.status === 'QUOTED' ? accept({ type: 'QuotePlaced', v: 1, data: {} }) : accept()
  }
}

function make({
  market,
  settings,
  ...request
}: Request & QuoteExtra['RequestQuote']): Decision<QuoteFact, Refusal<QuoteRefusal>> {
  if (request.usdCents !== null && request.sizeSat !== null)
    return refuse('WRONG_REQUEST', 'Say an amount of dollars or a capacity, not both.')
  const allowed = policyFor(request, settings)
  if ('refused' in allowed) return allowed
  const choice = choose(request, market)
  if ('refused' in choice) return choice
  const { chosen } = choice
  const { policy } = allowed
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
    // A price in satoshis is made without a rate; where there is none nothing is guessed.
    rate: 'rate' in market.rateNow ? market.rateNow.rate : null,
    lsps: request.lsps,
    record: request.record,
    candidate: candidateOf(chosen),
    standing: request.offerId === null,
    policy,
  }
  return accept({ type: 'Quoted', v: 1, data: { terms, fundingFees: recordFees(market.pricing.fees) } })
}

export const quote: Decider<Quote, QuoteDecides, QuoteFact, Refusal<QuoteRefusal>> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}

/** The order begins with the terms as they were quoted. */
export const placing: Process<Quote> = (state, orderId) =>
  state.status === 'QUOTED' ? [tell<OrderCommand>('order', orderId, 'place', { type: 'PlaceOrder', data: state.terms })] : []
