import { Failure } from '../failure.ts'
import type { ManualBuyer } from './buying.ts'
import type { Market } from './market.ts'
import { anOffer, closeSeller, openBuyer, openSeller, sell } from './seller.ts'
import type { Tally } from './tally.ts'
import { Trouble } from './trouble.ts'
import type { World } from './world.ts'

/** Those who order and sell by hand: a buyer with an account, and on the simulated network a seller of its own. */
export type ByHand = {
  readonly buyer: ManualBuyer | null
  /** The seller's work, until the signal. */
  readonly work: (tally: Tally, signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

const nobody: ByHand = { buyer: null, work: () => Promise.resolve(), close: () => Promise.resolve() }

/** @param orders how many orders will be made by hand. @throws Failure where they cannot be */
export async function openByHand(market: Market, { simulation }: World, orders: number): Promise<ByHand> {
  if (orders === 0) return nobody
  try {
    if (!simulation?.spare) {
      const offer = await anOffer(market)
      if (!offer) throw new Failure('No offer can be ordered from by hand now: leave manual out of --mix.')
      return { ...nobody, buyer: await openBuyer(market, offer) }
    }
    const { operator, spare } = simulation
    const seller = await openSeller(market, operator, spare, orders)
    return {
      buyer: await openBuyer(market, seller),
      work: (tally, signal) => sell(market, operator, seller, tally, signal),
      close: () => closeSeller(market, seller),
    }
  } catch (error) {
    if (!(error instanceof Trouble)) throw error
    throw new Failure(`The orders by hand cannot be prepared: ${error.message}`)
  }
}
