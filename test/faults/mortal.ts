import { setTimeout as sleep } from 'node:timers/promises'
import { graphql } from '../harness/buyer.ts'
import { type Product, spawnProduct, type Starting } from '../harness/product.ts'

/** A market that dies and comes back on the same data folder, for callers that only know how to ask again. */
export type Mortal = {
  /**
   * Asks whatever process is there, again and again until it answers or the time is over: not before the one that stays
   * has had something to sell for a while, so that a slow machine cannot make a round in which nobody is served.
   */
  call<T>(ask: (product: Product) => Promise<T>, untilMs: number): Promise<T>
  /** Starts it, and kills it after so long, ready or not. */
  live(forMs: number): Promise<void>
  /** Starts it to stay. */
  settleDown(): Promise<Product>
}

const AGAIN_MS = 100
const CALM_MS = 15_000
const SELLS_WITHIN_MS = 200_000
const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'

/** @param env settings of every process */
export function mortal(dataDir: string, env: Readonly<Record<string, string>>): Mortal {
  let present: Starting | undefined
  let sellsSince = performance.now() + SELLS_WITHIN_MS
  return {
    async call(ask, untilMs) {
      for (;;) {
        try {
          if (!present) throw new Error('the market is not running')
          return await ask(await present.ready)
        } catch (error) {
          if (performance.now() > Math.max(untilMs, sellsSince + CALM_MS)) throw error
          await sleep(AGAIN_MS)
        }
      }
    },
    async live(forMs) {
      present = spawnProduct(dataDir, env)
      const own = present.ended.then(({ code, signal }) => {
        if (signal !== 'SIGKILL') throw new Error(`the market ended by itself with ${code ?? signal}`)
      })
      await Promise.race([own, sleep(forMs)])
      await present.kill()
      await own
      present = undefined
    },
    settleDown() {
      const { ready } = (present = spawnProduct(dataDir, env))
      const calm = (): void => void (sellsSince = Math.min(sellsSince, performance.now()))
      ready.then((product) => sells(product, sellsSince)).then(calm, calm)
      return ready
    },
  }
}

/** Until sellers are there, and one of them can serve an order. */
async function sells({ url }: Product, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const { errors } = await graphql(url, PRICE)
    if (!errors) return
    await sleep(AGAIN_MS)
  }
}
