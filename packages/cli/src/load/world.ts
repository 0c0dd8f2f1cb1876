import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../failure.ts'
import { type Json, objectsOf } from '../json.ts'
import { type Market, type Operator, textAt } from './market.ts'
import { Trouble } from './trouble.ts'

/** A node that wants channels. `alias`: as the simulated network calls it, which can pay from it; null elsewhere. */
export type BuyerNode = { readonly alias: string | null; readonly uri: string; readonly pubkey: string }
export type SimNode = { readonly alias: string; readonly pubkey: string }

/** Who plays in this run. */
export type World = {
  readonly buyers: readonly BuyerNode[]
  /** null: the network is a real one, or nobody gave the operator's token. */
  readonly simulation: {
    readonly operator: Operator
    readonly sellers: readonly SimNode[]
    readonly spare: SimNode | null
    readonly marketAlias: string
  } | null
}

const SELLERS_WITHIN_MS = 30_000
const PRICE = '{ market { liquidity { liquidity_per_usd { sats } } } }'

/** Looks whom there is to buy and to sell. @throws Failure where nobody could buy, or nobody sells */
export async function findWorld(market: Market, given: readonly string[], signal: AbortSignal): Promise<World> {
  await sellersHaveCome(market, signal)
  const nodes = market.operator === null ? null : await simulatedNodes(market.operator)
  const role = (wanted: string) => (nodes ?? []).filter((node) => textAt(node, 'role') === wanted)
  const own = given.map((uri) => ({ alias: null, uri, pubkey: uri.split('@')[0] ?? '' }))
  const simulated = role('buyer').map((node) => ({
    alias: textAt(node, 'alias'),
    uri: textAt(node, 'uri'),
    pubkey: textAt(node, 'pubkey'),
  }))
  const buyers = own.length > 0 ? own : simulated
  if (buyers.length === 0)
    throw new Failure(
      'Nobody is there to buy: give --to <pubkey>@<host>:<port>, or the operator token of a market with a simulated network.',
    )
  const plain = (node: Json): SimNode => ({ alias: textAt(node, 'alias'), pubkey: textAt(node, 'pubkey') })
  const [spare] = role('spare').map(plain)
  const [home] = role('market').map(plain)
  const simulation =
    nodes && market.operator !== null && home
      ? { operator: market.operator, sellers: role('seller').map(plain), spare: spare ?? null, marketAlias: home.alias }
      : null
  return { buyers, simulation }
}

async function simulatedNodes(operator: Operator) {
  try {
    return objectsOf(await operator('GET', '/sim/nodes'))
  } catch (error) {
    if (!(error instanceof Trouble)) throw error
    if (error.code === 'HTTP 404') return null
    throw new Failure(`The market's operator interface does not answer: ${error.message}`)
  }
}

/** Sellers come a moment after the service. The price is asked, which costs nobody anything. */
async function sellersHaveCome(market: Market, signal: AbortSignal): Promise<void> {
  const end = performance.now() + SELLERS_WITHIN_MS
  for (;;) {
    try {
      return void (await market.graphql(PRICE, {}))
    } catch (error) {
      if (!(error instanceof Trouble)) throw error
      if (signal.aborted) throw new Failure('The run was ended before an order was due.')
      // Whoever named a wrong port need not wait.
      if (error.code === 'ECONNREFUSED' || performance.now() > end)
        throw new Failure(`The market sells nothing now: ${error.message}`)
      await pause(250)
    }
  }
}
