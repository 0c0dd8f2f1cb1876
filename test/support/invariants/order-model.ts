import { type OrderStatus, evolveOrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderFact, OrderTerms } from '@penstock/contracts/order.ts'
import type { MatchFact } from '@penstock/contracts/matching.ts'
import type { QuoteFact } from '@penstock/contracts/quote.ts'
import type { LedgerEntry, RegisteredOutpoint, SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Candidate, FundingFeesData } from '@penstock/contracts/shapes.ts'
import type { Event } from '@penstock/runtime/service.ts'

type DataOf<Type extends SettlementFact['type']> = Extract<SettlementFact, { type: Type }>['data']

/** An order, built from the facts of its quote, match, order and settlement streams, without code of the deciders. */
export type OrderModel = {
  readonly id: string
  status: OrderStatus | undefined
  source: OrderTerms['source'] | undefined
  destination: string
  sizeSat: bigint
  isPrivate: boolean
  paymentHashes: string[]
  /** The price in the order's terms, and the amount of its hold invoice. */
  priceMsat: bigint
  invoicedMsat: bigint
  /** The seller of the quote, and the funding costs at the time of the quote. */
  quotedCandidate: Candidate | undefined
  quotedFees: FundingFeesData
  /** The time after which a quoted order is not placed any more. */
  placeBefore: number | undefined
  /** The funding costs at the time of each search, by attempt. */
  searchFees: Map<number, FundingFeesData>
  /** The seller of each attempt, by attempt. */
  sellers: Map<number, Candidate>
  isHeld: boolean
  /** The expiry height of the held payment. */
  expiryHeight: number | undefined
  /** The times of the first request to cancel the hold, and of the first start of its settlement, in milliseconds since 1970. */
  cancelRequestedAt: number | undefined
  settlementStartedAt: number | undefined
  incidents: DataOf<'IncidentRecorded'>[]
  /** The outpoint of the order that settlement registered last, by `OutpointRegistered`. */
  registeredOutpoint: RegisteredOutpoint | undefined
  proofs: DataOf<'SettlementStarted'>['proof'][]
  settlements: DataOf<'HoldSettled'>[]
  cancellations: DataOf<'HoldCancelled'>[]
  /** Operator losses; empty after a loss is refuted. */
  losses: DataOf<'LossBorne'>[]
  /** Facts that make the buyer the creditor of the seller's amount, and facts after which it has no creditor. */
  closedPayables: DataOf<'PayableClosed'>[]
  refutedLosses: DataOf<'LossRefuted'>[]
  /** The creditors that an operator decided for. */
  decisions: DataOf<'PayoutDecided'>['to'][]
  payoutInvoices: Map<string, DataOf<'PayoutInvoiceSubmitted'>>
  /** Payment hashes of the payout invoices that settlement has accepted. */
  acceptedInvoices: string[]
  payouts: DataOf<'PayoutSucceeded'>[]
  /** Whether the last change of the hold was a cancellation. It is false again if an invoice is issued or paid after that. */
  isCancelled: boolean
  entries: LedgerEntry[]
  /** The sums of ledger postings whose entries do not add up to 0, in msat. */
  unbalancedSums: bigint[]
}

export const createOrderModel = (id: string): OrderModel => ({
  id,
  status: undefined,
  source: undefined,
  destination: '',
  sizeSat: 0n,
  isPrivate: false,
  paymentHashes: [],
  priceMsat: 0n,
  invoicedMsat: 0n,
  quotedCandidate: undefined,
  quotedFees: null,
  placeBefore: undefined,
  searchFees: new Map(),
  sellers: new Map(),
  isHeld: false,
  expiryHeight: undefined,
  cancelRequestedAt: undefined,
  settlementStartedAt: undefined,
  incidents: [],
  registeredOutpoint: undefined,
  proofs: [],
  settlements: [],
  cancellations: [],
  losses: [],
  closedPayables: [],
  refutedLosses: [],
  decisions: [],
  payoutInvoices: new Map(),
  acceptedInvoices: [],
  payouts: [],
  isCancelled: false,
  entries: [],
  unbalancedSums: [],
})

export function buildOrderModels(events: readonly Event[]): readonly OrderModel[] {
  const models = new Map<string, OrderModel>()
  for (const event of events) applyFact(models, event)
  return [...models.values()]
}

/** Applies a fact to the model of its order. */
export function applyFact(models: Map<string, OrderModel>, { category, aggregateId, fact, at }: Event): void {
  if (category !== 'order' && category !== 'settlement' && category !== 'quote' && category !== 'match') return
  const model = models.get(aggregateId) ?? createOrderModel(aggregateId)
  models.set(aggregateId, model)
  // The casts are safe because the category determines the type of a fact.
  if (category === 'order') applyOrderFact(model, fact as OrderFact)
  else if (category === 'quote') applyQuoteFact(model, fact as QuoteFact)
  else if (category === 'match') applyMatchFact(model, fact as MatchFact)
  else applySettlementFact(model, fact as SettlementFact, at)
}

function applyOrderFact(model: OrderModel, fact: OrderFact): void {
  model.status = evolveOrderStatus(model.status, fact.type)
  if (fact.type === 'AttemptStarted') model.sellers.set(fact.data.attempt, fact.data.candidate)
  if (fact.type !== 'OrderPlaced') return
  model.source = fact.data.source
  model.priceMsat = 1000n * BigInt(fact.data.priceSat)
  model.quotedCandidate = fact.data.candidate
  model.destination = fact.data.destination.pubkey
  model.sizeSat = BigInt(fact.data.sizeSat)
  model.isPrivate = fact.data.isPrivate
}

function applyQuoteFact(model: OrderModel, fact: QuoteFact): void {
  if (fact.type !== 'Quoted') return
  model.quotedFees = fact.data.fundingFees
  model.placeBefore = fact.data.placeBefore
}

function applyMatchFact(model: OrderModel, fact: MatchFact): void {
  if (fact.type === 'SearchBegun') model.searchFees.set(fact.data.attempt, fact.data.fundingFees)
}

function applySettlementFact(model: OrderModel, { type, data }: SettlementFact, at: number): void {
  switch (type) {
    case 'HoldRequested':
      model.paymentHashes.push(data.paymentHash)
      model.invoicedMsat = BigInt(data.amountMsat)
      return
    case 'HoldIssued':
      model.isCancelled = false
      return
    case 'HoldHeld':
      model.isHeld = true
      model.isCancelled = false
      model.expiryHeight = data.expiryHeight
      return
    case 'OutpointRegistered':
      model.registeredOutpoint = data
      return
    case 'SettlementStarted':
      model.settlementStartedAt ??= at
      return void model.proofs.push(data.proof)
    case 'CancelRequested':
    case 'SettlementMissed':
      model.cancelRequestedAt ??= at
      return
    case 'IncidentRecorded':
      return void model.incidents.push(data)
    case 'HoldSettled':
      return void model.settlements.push(data)
    case 'HoldCancelled':
      model.isCancelled = true
      return void model.cancellations.push(data)
    case 'LossBorne':
      return void model.losses.push(data)
    case 'LossRefuted':
      model.losses = []
      return void model.refutedLosses.push(data)
    case 'PayableClosed':
      return void model.closedPayables.push(data)
    case 'PayoutInvoiceSubmitted':
      return void model.payoutInvoices.set(data.paymentHash, data)
    case 'PayoutInvoiceAccepted':
      return void model.acceptedInvoices.push(data.paymentHash)
    case 'PayoutDecided':
      return void model.decisions.push(data.to)
    // A refused invoice is not paid for this order, and may be the invoice of another order.
    case 'PayoutInvoiceRefused':
      return void model.payoutInvoices.delete(data.paymentHash)
    case 'PayoutSucceeded':
      return void model.payouts.push(data)
    case 'LedgerPosted': {
      const sumMsat = data.entries.reduce((sum, { amountMsat }) => sum + BigInt(amountMsat), 0n)
      if (sumMsat !== 0n) model.unbalancedSums.push(sumMsat)
      return void model.entries.push(...data.entries)
    }
    default:
  }
}

/** @returns the sum of an account over all orders, in msat */
export const sumAccountMsat = (models: readonly OrderModel[], account: LedgerEntry['account']): bigint =>
  models
    .flatMap(({ entries }) => entries)
    .reduce((sum, entry) => (entry.account === account ? sum + BigInt(entry.amountMsat) : sum), 0n)

/**
 * Whether the hold was settled without a peer proof. At the last height, the signature of a rails seller's node and the chain
 * suffice. Otherwise a buyer could go offline, so that no peer proof exists, and get the channel for free.
 */
export const isSettledWithoutPeerProof = ({ settlements, proofs, registeredOutpoint }: OrderModel): boolean =>
  settlements.length > 0 &&
  proofs.at(-1)?.peer === null &&
  proofs.at(-1)?.withheld === true &&
  registeredOutpoint?.terms.rails === true
