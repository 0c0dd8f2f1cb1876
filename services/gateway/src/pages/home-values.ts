import type { Gateway } from '../ports.ts'
import { readCurrentPrice } from '../market/read/offers.ts'
import { groupDigits } from './order-page.ts'

/** Reads the values of the start page: the price of a dollar, or the reason for its absence, and the base URL. */
export async function buildHomeValues({ views, clock, baseUrl }: Gateway): Promise<object> {
  const price = await readCurrentPrice(views, clock.now())
  return {
    price: 'withdrawn' in price ? null : { sats: groupDigits(price.satsPerUsd), usd: price.usdPerUsd },
    withdrawn: 'withdrawn' in price ? price.withdrawn : null,
    baseUrl: baseUrl(),
  }
}
