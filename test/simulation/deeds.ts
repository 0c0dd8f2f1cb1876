import { seller as sellerContract, offer as offerContract } from '@penstock/contracts/matching.ts'
import { order as orderContract } from '@penstock/contracts/order.ts'
import { type Ask, ask } from '@penstock/runtime/service.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Random } from '@penstock/adapters/seeded/random.ts'
import { isNo, type Market, patiently, Refused } from './market.ts'
import type { Answering, Deed } from './plan.ts'
import type { Reached } from './reached.ts'

export type Hands = {
  readonly clock: Clock
  readonly market: Market
  readonly draws: Random
  readonly untilMs: number
  /** A seller's key and node by its alias. */
  readonly sellers: ReadonlyMap<string, { readonly key: string; readonly pubkey: string }>
  readonly note: (text: string) => void
  readonly reached: Reached
  /** Hears of what stopped somebody and is no answer of a market. */
  readonly blundered: (error: unknown) => void
}

const OFFERS = 'query { market { offer { offers(page: { limit: 50 }) { list { id status pubkey } } } } }'
const TOGGLE = 'mutation ($input: ToggleOfferInput!) { market { offer { toggle(input: $input) { offer_id } } } }'
const UPDATE = 'mutation ($input: UpdateOfferInput!) { market { offer { update(input: $input) { offer_id } } } }'
const REJECT = 'mutation ($input: SellerRejectOrdersInput!) { market { order { seller { reject(input: $input) { success } } } } }'
const SALES = 'query { user { market { orders { sales(input: { action_needed: true }) { list { id status } } } } } }'

type Offers = { market: { offer: { offers: { list: { id: string; status: string; pubkey: string }[] } } } }
type Sales = { user: { market: { orders: { sales: { list: { id: string; status: string }[] } } } } }

/** An operator's command, as the operator's routes send it. */
export const command = (market: Market, wish: Ask): Promise<unknown> =>
  market.call(async (door) => {
    const answer = await door.ask(wish)
    if (answer.outcome === 'refused') throw new Refused(answer.message)
    return answer
  })

export async function doByHand(hands: Hands, deed: Deed): Promise<void> {
  await hands.clock.sleep(deed.atMs)
  try {
    const isDone = await patiently(hands.clock, hands.untilMs, () =>
      deed.who === 'operator' ? operate(hands, deed) : change(hands, deed),
    )
    if (!isDone) return
    hands.note(`by hand: ${deed.does}`)
    hands.reached(`by hand: ${deed.does}`)
  } catch (error) {
    if (!isNo(error)) hands.blundered(error)
    hands.note(`by hand: ${deed.does}: ${error instanceof Refused ? error.message : String(error)}`)
  }
}

const by = { by: 'operator', reason: 'as the plan says' }

/** @returns whether there was anything to do it to */
async function operate({ market, draws, sellers }: Hands, { does }: Deed): Promise<boolean> {
  const { list } = (await market.graphql<Offers>(OFFERS, {})).market.offer.offers
  const pubkeys = [...sellers.values()].map(({ pubkey }) => pubkey)
  switch (does) {
    case 'close an order': {
      const order = await market.call(({ gateway }) => someOrder(gateway.views.db as never, draws))
      if (order === undefined) return false
      await command(
        market,
        ask(orderContract, order, 'CloseByOperator', { ...by, ...(draws.chance(0.5) && { bearsLoss: true as const }) }),
      )
      return true
    }
    case 'disable an offer': {
      if (list.length === 0) return false
      await command(market, ask(offerContract, draws.pick(list).id, 'DisableOffer', by))
      return true
    }
    case 'enable the offers':
      for (const { id } of list.filter(({ status }) => status === 'ADMIN_DISABLED'))
        await command(market, ask(offerContract, id, 'EnableOffer', by))
      return list.some(({ status }) => status === 'ADMIN_DISABLED')
    case 'grant rails':
      await command(market, ask(sellerContract, draws.pick(pubkeys), 'GrantRails', by))
      return true
    case 'revoke rails':
      await command(market, ask(sellerContract, draws.pick(pubkeys), 'RevokeRails', by))
      return true
    default:
      return false
  }
}

type Orders = {
  selectFrom(table: 'gateway_orders_v2'): {
    select(c: 'id'): { where(c: 'open', o: '=', v: 1): { execute(): Promise<{ id: string }[]> } }
  }
  selectFrom(table: 'sqlite_schema'): {
    select(c: 'name'): { where(c: 'name', o: '=', v: string): { execute(): Promise<object[]> } }
  }
}

async function someOrder(db: Orders, draws: Random): Promise<string | undefined> {
  // Gateways of an earlier release have another one.
  const tables = await db.selectFrom('sqlite_schema').select('name').where('name', '=', 'gateway_orders_v2').execute()
  if (tables.length === 0) return undefined
  const rows = await db.selectFrom('gateway_orders_v2').select('id').where('open', '=', 1).execute()
  return rows.length === 0 ? undefined : draws.pick(rows.map(({ id }) => id).toSorted())
}

async function change({ market, sellers }: Hands, { who, does }: Deed): Promise<boolean> {
  const seller = sellers.get(who)
  const { list } = (await market.graphql<Offers>(OFFERS, {})).market.offer.offers
  const own = list.find(({ pubkey }) => pubkey === seller?.pubkey)
  if (!seller || !own) return false
  if (does === 'toggle') await market.graphql(TOGGLE, { input: { offer_id: own.id } }, seller.key)
  else await market.graphql(UPDATE, { input: { offer_id: own.id, fee_rate: 2500 } }, seller.key)
  return true
}

/** A seller that answers by hand what its agent would accept. */
export async function rejectAll(hands: Hands, alias: string, how: Answering): Promise<void> {
  const { clock, market, sellers, untilMs, note, reached, blundered } = hands
  const key = sellers.get(alias)?.key
  if (how !== 'rejects' || key === undefined) return
  while (clock.now() < untilMs) {
    await clock.sleep(300)
    try {
      const { list } = (await market.graphql<Sales>(SALES, {}, key)).user.market.orders.sales
      for (const { id, status } of list)
        if (status === 'WAITING_FOR_SELLER_APPROVAL') {
          await market.graphql(REJECT, { input: { order_id: id, reason: 'not today' } }, key)
          note('by hand: rejected')
          reached('by hand: reject a sale')
        }
    } catch (error) {
      // Asked again a moment later.
      if (!isNo(error)) blundered(error)
    }
  }
}
