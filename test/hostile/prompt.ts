import { graphql } from '../harness/buyer.ts'
import type { Market } from './market.ts'

export type Watch = { stop(): Promise<{ readonly slowestMs: number; readonly misses: readonly string[] }> }

/** On a machine with two cores and a shooter that takes one of them. */
const PROMPT_MS = 4000
const PAUSE_MS = 100

/** A good request now and then, while others are bad: it is answered, rightly and soon. */
export function watchPromptness({ product }: Market): Watch {
  const misses: string[] = []
  let slowestMs = 0
  let ended = false
  const look = async (): Promise<void> => {
    while (!ended) {
      const began = performance.now()
      const { status, data, errors } = await graphql<{ market: { offer: { offers: { total_count: number } } } }>(
        product.url,
        '{ market { offer { offers { total_count } } } }',
      ).catch((error: unknown) => ({ status: 0, data: undefined, errors: String(error) }))
      const took = performance.now() - began
      slowestMs = Math.max(slowestMs, took)
      if (status !== 200 || (data?.market.offer.offers.total_count ?? 0) < 1)
        misses.push(`a good request is answered ${status} ${JSON.stringify(errors)}`)
      else if (took > PROMPT_MS) misses.push(`a good request took ${Math.round(took)} ms`)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
  const looking = look()
  return {
    async stop() {
      ended = true
      await looking
      return { slowestMs, misses }
    },
  }
}
