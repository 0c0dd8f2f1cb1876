import { setTimeout as sleep } from 'node:timers/promises'
import type { MarketAccess } from '../support/market-client.ts'
import type { Product } from '../support/product.ts'
import type { RetryDeadline } from './retry-deadline.ts'

export type RetryingClient = {
  /** Retries the request until it succeeds or its deadline has passed. Each try uses the current process of the market. */
  call<T>(request: (product: Product) => Promise<T>, untilMs: number): Promise<T>
}

const RETRY_INTERVAL_MS = 250

/**
 * Retries a request until it succeeds, because a request to a market that was just killed fails. The last try starts after the
 * deadline. @throws the error of the last try
 */
export async function retryRequest<T>(request: () => Promise<T>, isOver: () => boolean): Promise<T> {
  for (;;) {
    const isLast = isOver()
    try {
      return await request()
    } catch (error) {
      if (isLast) throw error
      await sleep(RETRY_INTERVAL_MS)
    }
  }
}

export const createRetryingClient = (
  market: MarketAccess & Pick<Product, 'dataDir'>,
  retryDeadline?: RetryDeadline,
): RetryingClient => ({
  call: (request, untilMs) =>
    retryRequest(
      () => request(asProduct(market)),
      () => retryDeadline?.isOver(untilMs) ?? performance.now() > untilMs,
    ),
})

/** Returns the parts of a product that buyers use. Its other parts concern a single process. */
export const asProduct = ({ url, dataDir, operator }: MarketAccess & Pick<Product, 'dataDir'>): Product =>
  ({ url, dataDir, operator }) as Product // Buyers use only these three fields.
