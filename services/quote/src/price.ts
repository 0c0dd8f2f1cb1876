import type { PriceCommand, PriceFact } from '@penstock/contracts/quote.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import { perUsd } from '@penstock/market/market.ts'
import { recordFees } from '@penstock/market/price.ts'
import type { Enriched } from '@penstock/runtime/enriched.ts'
import type { Market } from './choose.ts'

export type PriceSet = Extract<PriceFact, { readonly type: 'PriceSet' }>['data']
/** What a dollar buys at this moment, or why nothing is sold. */
export type PriceNow = { readonly price: PriceSet } | { readonly withdrawn: string }

export type PriceDecides = Enriched<PriceCommand, { RefreshPrice: { readonly now: PriceNow } }>

export type Price =
  | { readonly status: 'NONE' }
  | { readonly status: 'SET'; readonly price: PriceSet; readonly setAt: number }
  | { readonly status: 'WITHDRAWN'; readonly reason: string }

/** @param rateMaxAgeSeconds how long a rate may be used, which is how long a price made from it holds */
export function priceOf({ entries, rateNow, pricing, leaseBlocks }: Market, rateMaxAgeSeconds: number): PriceNow {
  if ('refused' in rateNow) return { withdrawn: rateNow.refused.message }
  const { rate } = rateNow
  const found = perUsd(entries, leaseBlocks, BigInt(rate.centsPerBtc), pricing)
  if (!found) return { withdrawn: 'No live seller can serve the smallest order now.' }
  return {
    price: {
      satsPerUsd: `${found.satsPerUsd}`,
      usdPerUsd: found.usdPerUsd,
      rate,
      fundingFees: recordFees(pricing.fees),
      validUntil: rate.at + rateMaxAgeSeconds * 1000,
    },
  }
}

/** Whether a price says something that the last one did not, or has used up half of its time. */
export function isNews(last: Price, now: PriceNow, at: number): boolean {
  if ('withdrawn' in now) return last.status !== 'WITHDRAWN' || last.reason !== now.withdrawn
  if (last.status !== 'SET') return true
  const { price } = last
  const same =
    price.satsPerUsd === now.price.satsPerUsd &&
    price.usdPerUsd === now.price.usdPerUsd &&
    price.rate.centsPerBtc === now.price.rate.centsPerBtc
  const halfway = last.setAt + (price.validUntil - last.setAt) / 2
  return !same || (at >= halfway && now.price.validUntil > price.validUntil)
}

/** `setAt` isn't in the fact: a price begins to hold when its rate was read. */
function evolve(_: Price, fact: PriceFact): Price {
  return fact.type === 'PriceSet'
    ? { status: 'SET', price: fact.data, setAt: fact.data.rate.at }
    : { status: 'WITHDRAWN', reason: fact.data.reason }
}

function decide(price: Price, { at, data: { now } }: PriceDecides): Decision<PriceFact, Refusal> {
  if (!isNews(price, now, at)) return accept()
  return 'price' in now
    ? accept({ type: 'PriceSet', v: 1, data: now.price })
    : accept({ type: 'PriceWithdrawn', v: 1, data: { reason: now.withdrawn } })
}

export const price: Decider<Price, PriceDecides, PriceFact> = { initial: { status: 'NONE' }, evolve, decide }

/** A stream a day, in UTC, so that none grows without an end. */
export const priceStream = (at: number): string => new Date(at).toISOString().slice(0, 10)
