import { command, type AddressedCommand } from '@penstock/kernel/process.ts'
import type { OfferTarget, SellerTarget } from '@penstock/contracts/matching.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import { isExpectedRefusal, type SimulatedMarket, retryWhileUnavailable, RefusedByMarket } from '../world/gateway-access.ts'
import type { SellerAnswer, OperatorAction } from '../plan/plan.ts'
import type { CountOccurrence } from '../coverage.ts'
import { REJECT_MUTATION, TOGGLE_OFFER_MUTATION, UPDATE_OFFER_MUTATION } from '../../support/market-operations.ts'

export type OperatorContext = {
  readonly clock: Clock
  readonly market: SimulatedMarket
  readonly draws: Prng
  readonly deadlineMs: number
  /** The account key and the node's pubkey of each seller, by alias. */
  readonly sellers: ReadonlyMap<string, { readonly key: string; readonly pubkey: string }>
  readonly note: (text: string) => void
  readonly countOccurrence: CountOccurrence
  /** Called with each error of an action that is not an expected refusal. */
  readonly onUnexpectedError: (error: unknown) => void
}

const OFFERS_QUERY = 'query { market { offer { offers(page: { limit: 50 }) { list { id status pubkey } } } } }'
const SALES_QUERY = 'query { user { market { orders { sales(input: { action_needed: true }) { list { id status } } } } } }'

type Offers = { market: { offer: { offers: { list: { id: string; status: string; pubkey: string }[] } } } }
type Sales = { user: { market: { orders: { sales: { list: { id: string; status: string }[] } } } } }

/** Sends a command of the operator to a gateway, as the routes of the operator's API do. @throws RefusedByMarket or Fault */
export const sendOperatorCommand = (market: SimulatedMarket, request: AddressedCommand): Promise<unknown> =>
  market.call(async (gateway) => {
    const answer = await gateway.sendCommand(request)
    if (answer.outcome === 'refused') throw new RefusedByMarket(answer.message)
    if (answer.outcome === 'unanswered') throw new Fault('the command of the operator got no answer')
    return answer
  })

export async function performAction(context: OperatorContext, action: OperatorAction): Promise<void> {
  await context.clock.sleep(action.atMs)
  try {
    const wasPerformed = await retryWhileUnavailable(context.clock, context.deadlineMs, () =>
      action.actor === 'operator' ? performOperatorAction(context, action) : performSellerAction(context, action),
    )
    if (!wasPerformed) return
    context.note(`by hand: ${action.name}`)
    context.countOccurrence(`by hand: ${action.name}`)
  } catch (error) {
    if (!isExpectedRefusal(error)) context.onUnexpectedError(error)
    context.note(`by hand: ${action.name}: ${error instanceof RefusedByMarket ? error.message : String(error)}`)
  }
}

const OPERATOR_REASON = { by: 'operator', reason: 'as the plan says' }

/** @returns false if no order or offer exists that the action can change */
async function performOperatorAction({ market, draws, sellers }: OperatorContext, { name }: OperatorAction): Promise<boolean> {
  const { list } = (await market.graphql<Offers>(OFFERS_QUERY, {})).market.offer.offers
  const pubkeys = [...sellers.values()].map(({ pubkey }) => pubkey)
  switch (name) {
    case 'close an order': {
      const order = await market.call(({ gateway }) => pickOpenOrder(gateway.views.db as never, draws))
      if (order === undefined) return false
      await sendOperatorCommand(
        market,
        command<OrderTarget>('order', order, {
          type: 'CloseByOperator',
          data: {
            ...OPERATOR_REASON,
            ...(draws.chance(0.5) && { bearsLoss: true as const }),
          },
        }),
      )
      return true
    }
    case 'disable an offer': {
      if (list.length === 0) return false
      await sendOperatorCommand(
        market,
        command<OfferTarget>('offer', draws.pick(list).id, { type: 'DisableOffer', data: OPERATOR_REASON }),
      )
      return true
    }
    case 'enable the offers':
      for (const { id } of list.filter(({ status }) => status === 'ADMIN_DISABLED'))
        await sendOperatorCommand(market, command<OfferTarget>('offer', id, { type: 'EnableOffer', data: OPERATOR_REASON }))
      return list.some(({ status }) => status === 'ADMIN_DISABLED')
    case 'grant rails':
      await sendOperatorCommand(
        market,
        command<SellerTarget>('seller', draws.pick(pubkeys), { type: 'GrantRails', data: OPERATOR_REASON }),
      )
      return true
    case 'revoke rails':
      await sendOperatorCommand(
        market,
        command<SellerTarget>('seller', draws.pick(pubkeys), { type: 'RevokeRails', data: OPERATOR_REASON }),
      )
      return true
    default:
      return false
  }
}

type OrderTables = {
  selectFrom(table: 'gateway_orders_v2'): {
    select(c: 'id'): { where(c: 'open', o: '=', v: 1): { execute(): Promise<{ id: string }[]> } }
  }
}

async function pickOpenOrder(db: OrderTables, draws: Prng): Promise<string | undefined> {
  const rows = await db.selectFrom('gateway_orders_v2').select('id').where('open', '=', 1).execute()
  return rows.length === 0 ? undefined : draws.pick(rows.map(({ id }) => id).toSorted())
}

async function performSellerAction({ market, sellers }: OperatorContext, { actor, name }: OperatorAction): Promise<boolean> {
  const seller = sellers.get(actor)
  const { list } = (await market.graphql<Offers>(OFFERS_QUERY, {})).market.offer.offers
  const offer = list.find(({ pubkey }) => pubkey === seller?.pubkey)
  if (!seller || !offer) return false
  if (name === 'toggle') await market.graphql(TOGGLE_OFFER_MUTATION, { input: { offer_id: offer.id } }, seller.key)
  else await market.graphql(UPDATE_OFFER_MUTATION, { input: { offer_id: offer.id, fee_rate: 2500 } }, seller.key)
  return true
}

/** Rejects all orders that wait for this seller's approval, if the plan says that the seller rejects orders. */
export async function rejectSales(context: OperatorContext, alias: string, answer: SellerAnswer): Promise<void> {
  const { clock, market, sellers, deadlineMs, note, countOccurrence, onUnexpectedError } = context
  const key = sellers.get(alias)?.key
  if (answer !== 'rejects' || key === undefined) return
  while (clock.now() < deadlineMs) {
    await clock.sleep(300)
    try {
      const { list } = (await market.graphql<Sales>(SALES_QUERY, {}, key)).user.market.orders.sales
      for (const { id, status } of list)
        if (status === 'WAITING_FOR_SELLER_APPROVAL') {
          await market.graphql(REJECT_MUTATION, { input: { order_id: id, reason: 'not today' } }, key)
          note('by hand: rejected')
          countOccurrence('by hand: reject a sale')
        }
    } catch (error) {
      // The loop retries after 300 ms.
      if (!isExpectedRefusal(error)) onUnexpectedError(error)
    }
  }
}
