import { setTimeout as sleep } from 'node:timers/promises'
import { type MarketAccess, sendGraphql } from '../support/market-client.ts'

/** The deadline until which refused buyers retry. It depends on the market, so that some buyers buy even on a slow machine. */
export type RetryDeadline = {
  /** Called after the last fault. It sets the deadline to one minute after the market sells. */
  startWhenSelling(market: Pick<MarketAccess, 'url'>): void
  /** Returns whether both `untilMs` and the deadline have passed. */
  isOver(untilMs: number): boolean
}

/** The time for retries while the market sells. A slow market admits few concurrent purchases, and each takes seconds. */
const SELLING_FOR_MS = 60_000
/** The longest time to the last fault. A round that takes longer has failed. */
const FAULTS_END_WITHIN_MS = 200_000
const RETRY_INTERVAL_MS = 100
const PRICE_QUERY = '{ market { liquidity { liquidity_per_usd { sats } } } }'

/**
 * @param sellsWithinMs the longest wait for a seller after the last fault; the wait ends because all sellers may misbehave
 */
export function createRetryDeadline(sellsWithinMs: number): RetryDeadline {
  let sellingSince = performance.now() + FAULTS_END_WITHIN_MS
  return {
    startWhenSelling({ url }) {
      sellingSince = Math.min(sellingSince, performance.now() + sellsWithinMs)
      void waitUntilSelling(url, sellingSince).then(() => {
        sellingSince = Math.min(sellingSince, performance.now())
      })
    },
    isOver: (untilMs) => performance.now() > Math.max(untilMs, sellingSince + SELLING_FOR_MS),
  }
}

/** Waits until a seller can serve an order. */
async function waitUntilSelling(url: string, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const response = await sendGraphql(url, PRICE_QUERY).catch(() => undefined) // The market may still be restarting.
    if (response?.data && !response.errors) return
    await sleep(RETRY_INTERVAL_MS)
  }
}
