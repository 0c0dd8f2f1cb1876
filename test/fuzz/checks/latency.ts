import { sendGraphql } from '../../support/market-client.ts'
import type { FuzzMarket } from '../fuzz-market.ts'

export type LatencyWatch = { stop(): Promise<{ readonly slowestMs: number; readonly violations: readonly string[] }> }

/** Limit in milliseconds for a machine with two cores. The fuzzer uses one of the cores. */
const MAX_LATENCY_MS = 4000
const PAUSE_MS = 100

/** Sends a good request at intervals during the campaign, and checks that the answers are correct and fast. */
export function watchLatency({ product }: FuzzMarket): LatencyWatch {
  const violations: string[] = []
  let slowestMs = 0
  let ended = false
  const poll = async (): Promise<void> => {
    while (!ended) {
      const startedAt = performance.now()
      const { status, data, errors } = await sendGraphql<{ market: { offer: { offers: { total_count: number } } } }>(
        product.url,
        '{ market { offer { offers { total_count } } } }',
      ).catch((error: unknown) => ({ status: 0, data: undefined, errors: String(error) }))
      const tookMs = performance.now() - startedAt
      slowestMs = Math.max(slowestMs, tookMs)
      if (status !== 200 || (data?.market.offer.offers.total_count ?? 0) < 1)
        violations.push(`a good request was answered with ${status} ${JSON.stringify(errors)}`)
      else if (tookMs > MAX_LATENCY_MS) violations.push(`a good request took ${Math.round(tookMs)} ms`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const polling = poll()
  return {
    async stop() {
      ended = true
      await polling
      return { slowestMs, violations }
    },
  }
}
