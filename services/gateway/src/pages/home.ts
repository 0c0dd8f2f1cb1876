import type { Gateway } from '../ports.ts'
import { currentPrice } from '../read/offers.ts'
import { grouped } from './order-page.ts'

/** What the start page shows: what a dollar buys now, and where everything is. */
export async function home({ views, clock, baseUrl }: Gateway): Promise<object> {
  const price = await currentPrice(views, clock.now())
  return {
    price: 'withdrawn' in price ? null : { sats: grouped(price.satsPerUsd), usd: price.usdPerUsd },
    withdrawn: 'withdrawn' in price ? price.withdrawn : null,
    baseUrl: baseUrl(),
  }
}
