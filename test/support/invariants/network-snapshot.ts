import type { Product } from '../product.ts'
import { type NodeBalances, readNodeBalances, type NodeFunds, readNodeFunds } from './balances.ts'
import { type NetworkState, readNetworkState } from './network-state.ts'

export type NetworkSnapshot = {
  readonly state: NetworkState
  readonly nodeFunds: readonly NodeFunds[]
  readonly balances: NodeBalances
}

const MAX_TRIES = 10

/**
 * Reads a consistent snapshot of the simulated network while it runs. Balances may change during the read, because sellers pay
 * fees to close the channels of failed orders. So the read is retried until the balances before and after it are the same.
 * @throws Error if ten tries give no consistent snapshot
 */
export async function readStableNetwork(market: Pick<Product, 'dataDir' | 'operator'>): Promise<NetworkSnapshot> {
  const readOnce = async (triesLeft: number, previous: NodeBalances): Promise<NetworkSnapshot> => {
    const { dataDir } = market
    const [state, nodeFunds, balances] = [readNetworkState(dataDir), readNodeFunds(dataDir), await readNodeBalances(market)]
    const isUnchanged = [...balances].every(([alias, msat]) => previous.get(alias) === msat)
    if (isUnchanged) return { state, nodeFunds, balances }
    if (triesLeft === 1) throw new Error(`balances changed during each of ${MAX_TRIES} reads of the network`)
    return readOnce(triesLeft - 1, balances)
  }
  return readOnce(MAX_TRIES, await readNodeBalances(market))
}
