import type { Product } from '../harness/product.ts'
import { type Balances, balancesOf, type Wealth, wealthOf } from './balances.ts'
import { type Truth, truthOf } from './truth.ts'

export type Network = { readonly truth: Truth; readonly wealth: readonly Wealth[]; readonly balances: Balances }

const MOST_LOOKS = 10

/**
 * The simulated network runs on while it is asked and read: sellers close channels of orders that failed, for a fee. The
 * answers are of one moment where balances are the same before and after.
 */
export async function networkOf(market: Pick<Product, 'dataDir' | 'operator'>): Promise<Network> {
  const look = async (tries: number, before: Balances): Promise<Network> => {
    const { dataDir } = market
    const [truth, wealth, balances] = [truthOf(dataDir), wealthOf(dataDir), await balancesOf(market)]
    const isStill = [...balances].every(([alias, msat]) => before.get(alias) === msat)
    return isStill || tries === 1 ? { truth, wealth, balances } : look(tries - 1, balances)
  }
  return look(MOST_LOOKS, await balancesOf(market))
}
