import { isFailure } from '@penstock/contracts/order/lifecycle.ts'
import { systemIds } from '@penstock/adapters/system/ids.ts'
import { BUY_MUTATION, type BuyMutationData } from '../../support/market-operations.ts'
import type { FoldedLog } from '../invariants/folded-log.ts'
import { isExpectedRefusal } from '../world/gateway-access.ts'
import type { ProcessHost } from '../world/process-host.ts'
import { createSellerTerms } from '../world/seller-agents.ts'
import { openAccount } from './workload.ts'
import { readSettlementState } from '../invariants/hold-deadlines.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** The alias of a node that takes no part in the workload. */
const LAST_SELLER = 'spare'
const LAST_BUYER = 'buyer'
const OFFERS_QUERY = 'query { market { offer { offers(page: { limit: 50 }) { list { pubkey } } } } }'
type Offers = { market: { offer: { offers: { list: { pubkey: string }[] } } } }

const RETRY_INTERVAL_MS = 200
const INBOUND_SAT = 5_000_000n

/**
 * Adds one more seller and sells one more channel up to the payout, after quiescence. This sale finds a component that a fault
 * has blocked. Such a component may leave no pending work in any stream, so the other checks do not find it.
 */
export async function runLastSale(world: SimulatedWorld, host: ProcessHost, log: FoldedLog): Promise<void> {
  const { engine, simnet, plan } = world
  const { clock, random } = engine.schedule
  const draws = random.fork('last sale')
  const ids = systemIds(() => clock.now(), draws.bytes)
  const nodes = new Map(simnet.control.nodes().map((node) => [node.alias, node]))
  if (plan.network === 'no inbound') simnet.control.open(LAST_BUYER, nodes.get('market')?.pubkey ?? '', INBOUND_SAT)
  // A replica may still be frozen for a while, so requests are retried.
  const key = await retryUntilAnswered(world, () => openAccount(world, ids, `${LAST_SELLER}@people.invalid`))
  // The new seller is cheaper than all others, so it gets the order.
  host.startAgent(
    LAST_SELLER,
    { ...createSellerTerms(0, { acceptsAutomatically: true, isScarce: false }), baseFeeSat: 100n, feeRatePpm: 1900 },
    key,
  )
  await retryUntilAnswered(world, async () => {
    const { list } = (await world.market.graphql<Offers>(OFFERS_QUERY, {})).market.offer.offers
    return list.some(({ pubkey }) => pubkey === nodes.get(LAST_SELLER)?.pubkey) || undefined
  })
  const options = { private: false, rails_cluster_only: false }
  const input = { connection_uri: nodes.get(LAST_BUYER)?.uri, usd_cents: '900', options }
  // While a replica is frozen, the windows of all sellers may end. The buyer then buys again.
  while (!(await sellChannel(world, log, input)));
}

/** Sells one channel. @returns false if the order failed */
async function sellChannel(world: SimulatedWorld, log: FoldedLog, input: object): Promise<boolean> {
  const { engine, simnet, trace } = world
  const { order, payment } = (
    await retryUntilAnswered(world, () => world.market.graphql<BuyMutationData>(BUY_MUTATION, { input }))
  ).liquidity.buy
  trace.note(`the last sale: ${order.transaction_id}`)
  simnet.control.pay(LAST_BUYER, payment.lightning_invoice)
  while (!readSettlementState(log, order.transaction_id)?.payout.paid) {
    if (isFailure(readOrderStatus(log, order.transaction_id))) return false
    await engine.schedule.clock.sleep(RETRY_INTERVAL_MS)
    simnet.control.mine(1)
  }
  return true
}

// The order service folds this state; undefined before the first fact.
const readOrderStatus = (log: FoldedLog, id: string): string =>
  (log.state(`order-${id}`) as { readonly status: string } | undefined)?.status ?? ''

/** Retries a request until it has a result. @throws an error that is not an expected refusal */
async function retryUntilAnswered<T>({ engine }: SimulatedWorld, request: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await request().catch((error: unknown) => {
      if (!isExpectedRefusal(error)) throw error
    })
    if (answer !== undefined) return answer
    await engine.schedule.clock.sleep(RETRY_INTERVAL_MS)
  }
}
