import { systemIds } from '@penstock/adapters/system/ids.ts'
import { BUY, type Purchased } from './buyers.ts'
import type { Ledger } from './checks.ts'
import { isNo } from './market.ts'
import type { Cradle } from './processes.ts'
import { termsOf } from './sellers.ts'
import { openAccount } from './story.ts'
import { stateOf } from './watches.ts'
import type { World } from './world.ts'

/** Somebody new: nothing that was done to the others' nodes, offers or coins stands in the way. */
const SELLER = 'spare'
const BUYER = 'buyer'
const OFFERS = 'query { market { offer { offers(page: { limit: 50 }) { list { pubkey } } } } }'
type Offers = { market: { offer: { offers: { list: { pubkey: string }[] } } } }

const AGAIN_MS = 200
const INBOUND_SAT = 5_000_000n

/**
 * Nothing strikes any more, and nothing is under way: a market that is alive takes one more seller, and sells one more
 * channel whole, from its price to the payout. What a fault has left wedged may ask for nothing in any stream.
 */
export async function sellOnceMore(world: World, cradle: Cradle, ledger: Ledger): Promise<void> {
  const { engine, simnet, plan, diary } = world
  const { clock, random } = engine.schedule
  const draws = random.fork('last sale')
  const ids = systemIds(() => clock.now(), draws.bytes)
  const nodes = new Map(simnet.control.nodes().map((node) => [node.alias, node]))
  if (plan.network === 'no inbound') simnet.control.open(BUYER, nodes.get('market')?.pubkey ?? '', INBOUND_SAT)
  // A replica may stand still for a while yet: what it had in hand is answered with "try again".
  const key = await untilGranted(world, () => openAccount(world, ids, `${SELLER}@people.invalid`))
  // A little cheaper than all others.
  cradle.agent(SELLER, { ...termsOf(0, { standing: true, isScarce: false }), baseFeeSat: 100n, feeRatePpm: 1900 }, key)
  await untilGranted(world, async () => {
    const { list } = (await world.market.graphql<Offers>(OFFERS, {})).market.offer.offers
    return list.some(({ pubkey }) => pubkey === nodes.get(SELLER)?.pubkey) || undefined
  })
  const options = { private: false, rails_cluster_only: false }
  const input = { connection_uri: nodes.get(BUYER)?.uri, usd_cents: '900', options }
  const { order, payment } = (await untilGranted(world, () => world.market.graphql<Purchased>(BUY, { input }))).liquidity.buy
  diary.note(`the last sale: ${order.transaction_id}`)
  simnet.control.pay(BUYER, payment.lightning_invoice)
  while (!stateOf(ledger, order.transaction_id)?.payout.paid) {
    await clock.sleep(AGAIN_MS)
    simnet.control.mine(1)
  }
}

/** Asks until there is what was asked for. */
async function untilGranted<T>({ engine }: World, ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask().catch((error: unknown) => {
      if (!isNo(error)) throw error
    })
    if (answer !== undefined) return answer
    await engine.schedule.clock.sleep(AGAIN_MS)
  }
}
