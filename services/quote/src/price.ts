import type { PriceCommand, PriceFact } from '@penstock/contracts/quote.ts'
import { accept, type Decider, type Decision, type Refusal } from '@penstock/kernel/decider.ts'
import { quotePerUsd } from '@penstock/market/market.ts'
import { serialiseFees } from '@penstock/market/price.ts'
import type { EnrichedCommand } from '@penstock/runtime/commands/enriched-command.ts'
import type { MarketSnapshot } from './choose-offer.ts'

export type PriceSetData = Extract<PriceFact, { readonly type: 'PriceSet' }>['data']
/** The capacity that a dollar buys at this moment, or the reason why none is sold. */
export type CurrentPrice = { readonly price: PriceSetData } | { readonly withdrawn: string }

export type EnrichedPriceCommand = EnrichedCommand<PriceCommand, { RefreshPrice: { readonly now: CurrentPrice } }>

export type Price =
  | { readonly status: 'NONE' }
  | { readonly status: 'SET'; readonly price: PriceSetData; readonly setAt: number }
  | { readonly status: 'WITHDRAWN'; readonly reason: string }

/** @param rateMaxAgeSeconds the validity of a rate, and of a price that is computed from it */
export function computePrice(
  { entries, currentRate, pricing, leaseBlocks }: MarketSnapshot,
  rateMaxAgeSeconds: number,
): CurrentPrice {
  if ('refused' in currentRate) return { withdrawn: currentRate.refused.message }
  const { rate } = currentRate
  const found = quotePerUsd(entries, leaseBlocks, BigInt(rate.centsPerBtc), pricing)
  if (!found) return { withdrawn: 'No live seller can serve the smallest order now.' }
  return {
    price: {
      satsPerUsd: `${found.satsPerUsd}`,
      usdPerUsd: found.usdPerUsd,
      rate,
      fundingFees: serialiseFees(pricing.fees),
      validUntil: rate.at + rateMaxAgeSeconds * 1000,
    },
  }
}

/** Whether the price differs from the last price, or half of the last price's validity is over. */
export function isPriceDue(last: Price, now: CurrentPrice, at: number): boolean {
  if ('withdrawn' in now) return last.status !== 'WITHDRAWN' || last.reason !== now.withdrawn
  if (last.status !== 'SET') return true
  const { price } = last
  const isSame =
    price.satsPerUsd === now.price.satsPerUsd &&
    price.usdPerUsd === now.price.usdPerUsd &&
    price.rate.centsPerBtc === now.price.rate.centsPerBtc
  const halfLifeAt = last.setAt + (price.validUntil - last.setAt) / 2
  return !isSame || (at >= halfLifeAt && now.price.validUntil > price.validUntil)
}

/** `setAt` is the time at which the rate was read, because the price is valid from then on. */
function evolve(_: Price, fact: PriceFact): Price {
  return fact.type === 'PriceSet'
    ? { status: 'SET', price: fact.data, setAt: fact.data.rate.at }
    : { status: 'WITHDRAWN', reason: fact.data.reason }
}

function decide(price: Price, { at, data: { now } }: EnrichedPriceCommand): Decision<PriceFact, Refusal> {
  if (!isPriceDue(price, now, at)) return accept()
  return 'price' in now
    ? accept({ type: 'PriceSet', v: 1, data: now.price })
    : accept({ type: 'PriceWithdrawn', v: 1, data: { reason: now.withdrawn } })
}

export const priceDecider: Decider<Price, EnrichedPriceCommand, PriceFact> = { initial: { status: 'NONE' }, evolve, decide }

/** One stream per day in UTC, so that no stream grows without limit. */
export const priceStreamId = (at: number): string => new Date(at).toISOString().slice(0, 10)
