import { setTimeout as sleep } from 'node:timers/promises'
import type { Door } from '../harness/buyer.ts'
import type { Product } from '../harness/product.ts'
import type { Calm } from './calm.ts'
import type { Mortal } from './mortal.ts'

const AGAIN_MS = 250

/** Asks again and again: a market that was just killed has refused nobody for good. */
export const patientCaller = (door: Door & Pick<Product, 'dataDir'>, after?: Calm): Pick<Mortal, 'call'> => ({
  async call(ask, untilMs) {
    for (;;) {
      try {
        return await ask(asProduct(door))
      } catch (error) {
        if (after?.isOver(untilMs) ?? performance.now() > untilMs) throw error
        await sleep(AGAIN_MS)
      }
    }
  },
})

/** What those who buy ask of a product; the rest of one is about its single process. */
export const asProduct = ({ url, dataDir, operator }: Door & Pick<Product, 'dataDir'>): Product =>
  ({ url, dataDir, operator }) as Product // only these three are used by buyers
