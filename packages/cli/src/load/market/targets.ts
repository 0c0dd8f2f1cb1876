import { setTimeout as pause } from 'node:timers/promises'
import { Failure } from '../../failure.ts'
import { type Json, filterObjects } from '../../json.ts'
import { type LoadMarket, type OperatorApi, getTextAt } from './load-market.ts'
import { RequestError } from './request-error.ts'

/** A node that buys channels. `alias`: its name in the simulated network, which can pay from it; null on a real network. */
export type BuyerNode = { readonly alias: string | null; readonly uri: string; readonly pubkey: string }
export type SimNetworkNode = { readonly alias: string; readonly pubkey: string }

/** The buyers of this run, and the simulated network if there is one. */
export type LoadTargets = {
  readonly buyers: readonly BuyerNode[]
  /** Null if the network is a real one, or if no operator token was given. */
  readonly simulation: {
    readonly operator: OperatorApi
    readonly sellers: readonly SimNetworkNode[]
    readonly spare: SimNetworkNode | null
    readonly marketAlias: string
  } | null
}

const SELLERS_TIMEOUT_MS = 30_000
const PRICE_QUERY = '{ market { liquidity { liquidity_per_usd { sats } } } }'

/** Finds the buyers and sellers of the run. @throws Failure if no node can buy, or no seller has an offer */
export async function findLoadTargets(
  market: LoadMarket,
  nodeUris: readonly string[],
  signal: AbortSignal,
): Promise<LoadTargets> {
  await waitForSellers(market, signal)
  const nodes = market.operator === null ? null : await listSimulatedNodes(market.operator)
  const role = (name: string) => (nodes ?? []).filter((node) => getTextAt(node, 'role') === name)
  const givenBuyers = nodeUris.map((uri) => ({ alias: null, uri, pubkey: uri.split('@')[0] ?? '' }))
  const simulatedBuyers = role('buyer').map((node) => ({
    alias: getTextAt(node, 'alias'),
    uri: getTextAt(node, 'uri'),
    pubkey: getTextAt(node, 'pubkey'),
  }))
  const buyers = givenBuyers.length > 0 ? givenBuyers : simulatedBuyers
  if (buyers.length === 0)
    throw new Failure(
      'No node can buy: give --to <pubkey>@<host>:<port>, or the operator token of a market with a simulated network.',
    )
  const toNode = (node: Json): SimNetworkNode => ({ alias: getTextAt(node, 'alias'), pubkey: getTextAt(node, 'pubkey') })
  const [spare] = role('spare').map(toNode)
  const [marketNode] = role('market').map(toNode)
  const simulation =
    nodes && market.operator !== null && marketNode
      ? { operator: market.operator, sellers: role('seller').map(toNode), spare: spare ?? null, marketAlias: marketNode.alias }
      : null
  return { buyers, simulation }
}

/** @returns null if the market's network is a real one. @throws Failure if the operator interface does not answer */
export async function listSimulatedNodes(operator: OperatorApi) {
  try {
    return filterObjects(await operator('GET', '/sim/nodes'))
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    if (error.code === 'HTTP 404') return null
    throw new Failure(`The market's operator interface does not answer: ${error.message}`)
  }
}

/** Waits until the market returns a price. Sellers start after the service, and the market has no price without them. */
async function waitForSellers(market: LoadMarket, signal: AbortSignal): Promise<void> {
  const endsAt = performance.now() + SELLERS_TIMEOUT_MS
  for (;;) {
    try {
      return void (await market.graphql(PRICE_QUERY, {}))
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      if (signal.aborted) throw new Failure('The run was ended before an order was due.')
      // A refused connection means a wrong port, so a retry is useless.
      if (error.code === 'ECONNREFUSED' || performance.now() > endsAt)
        throw new Failure(`The market sells nothing now: ${error.message}`)
      await pause(250)
    }
  }
}
