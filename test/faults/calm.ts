import { setTimeout as sleep } from 'node:timers/promises'
import { type Door, graphql } from '../harness/buyer.ts'

/** When those who were refused may give up: a slow machine must not make a round in which nobody is served. */
export type Calm = {
  /** From now on nothing strikes this market any more. */
  begin(door: Pick<Door, 'url'>): void
  /** Whether this instant is over, and the market has had something to sell for a while. */
  isOver(untilMs: number): boolean
}

const CALM_MS = 15_000
const SELLS_WITHIN_MS = 200_000
const AGAIN_MS = 100
const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'

export function calm(): Calm {
  let sellsSince = performance.now() + SELLS_WITHIN_MS
  return {
    begin: ({ url }) =>
      void sells(url, sellsSince).then(() => {
        sellsSince = Math.min(sellsSince, performance.now())
      }),
    isOver: (untilMs) => performance.now() > Math.max(untilMs, sellsSince + CALM_MS),
  }
}

/** Until sellers are there, and one of them can serve an order. */
async function sells(url: string, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const answer = await graphql(url, PRICE).catch(() => undefined) // what was struck last may not be back yet
    if (answer?.data && !answer.errors) return
    await sleep(AGAIN_MS)
  }
}
