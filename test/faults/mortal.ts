import { setTimeout as sleep } from 'node:timers/promises'
import { type Product, spawnProduct, type Starting } from '../harness/product.ts'
import { calm } from './calm.ts'

/** A market that dies and comes back on the same data folder, for callers that only know how to ask again. */
export type Mortal = {
  /** Asks whatever process is there, again and again until it answers or the time is over and the market has become calm. */
  call<T>(ask: (product: Product) => Promise<T>, untilMs: number): Promise<T>
  /** Starts it, and kills it after so long, ready or not. */
  live(forMs: number): Promise<void>
  /** Starts it to stay. */
  settleDown(): Promise<Product>
}

const AGAIN_MS = 100

/** @param env settings of every process */
export function mortal(dataDir: string, env: Readonly<Record<string, string>>): Mortal {
  let present: Starting | undefined
  const after = calm()
  return {
    async call(ask, untilMs) {
      for (;;) {
        try {
          if (!present) throw new Error('the market is not running')
          return await ask(await present.ready)
        } catch (error) {
          if (after.isOver(untilMs)) throw error
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
    async settleDown() {
      present = spawnProduct(dataDir, env)
      const product = await present.ready
      after.begin(product)
      return product
    },
  }
}
