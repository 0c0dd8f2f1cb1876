import { Failure } from '../../failure.ts'
import type { ManualBuyer } from './order-requests.ts'
import type { LoadMarket } from '../market/load-market.ts'
import { findAutoAcceptOffer, closeManualSeller, openManualBuyer, openManualSeller, runManualSeller } from './manual-seller.ts'
import type { LoadCounters } from '../measurements/counters.ts'
import { RequestError } from '../market/request-error.ts'
import type { LoadTargets } from '../market/targets.ts'

/** The parties of manual orders: a buyer with an account, and on the simulated network also a seller. */
export type ManualOrders = {
  readonly buyer: ManualBuyer | null
  /** Runs the seller until the signal aborts. */
  readonly runSeller: (counters: LoadCounters, signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

const noManualOrders: ManualOrders = { buyer: null, runSeller: () => Promise.resolve(), close: () => Promise.resolve() }

/** @param orders the number of manual orders in the run. @throws Failure if manual orders are not possible */
export async function openManualOrders(market: LoadMarket, { simulation }: LoadTargets, orders: number): Promise<ManualOrders> {
  if (orders === 0) return noManualOrders
  try {
    if (!simulation?.spare) {
      const offer = await findAutoAcceptOffer(market)
      if (!offer) throw new Failure('No offer accepts manual orders now: leave manual out of --mix.')
      return { ...noManualOrders, buyer: await openManualBuyer(market, offer) }
    }
    const { operator, spare } = simulation
    const seller = await openManualSeller(market, operator, spare, orders)
    return {
      buyer: await openManualBuyer(market, seller),
      runSeller: (counters, signal) => runManualSeller(market, operator, seller, counters, signal),
      close: () => closeManualSeller(market, seller),
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    throw new Failure(`The manual orders cannot be prepared: ${error.message}`)
  }
}
