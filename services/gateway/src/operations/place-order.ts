import type { DataOf } from '@penstock/contracts/define.ts'
import { isFailure } from '@penstock/kernel/order-status.ts'
import { quote } from '@penstock/contracts/quote.ts'
import { wallInstantOf } from '@penstock/ports/in-time.ts'
import { ask } from '@penstock/runtime/service.ts'
import { readOnly } from '../commands/commands.ts'
import type { Gateway } from '../ports.ts'
import { isDeletedLately, ownerOfNode } from '../read/accounts.ts'
import { orderById, type StoredOrder } from '../read/orders.ts'
import { destinationRefusal } from './destination.ts'
import { answerBy } from './offers.ts'
import { freeSlot, makeRoom, takeSlot } from './slots.ts'
import { withdrawOrder } from './withdraw-order.ts'

/** What somebody wants to buy: the wire's request. */
export type Wish = DataOf<(typeof quote)['commands']['RequestQuote']>

export type Placing = {
  readonly orderId: string
  readonly wish: Wish
  /** The caller's address, for the limits. */
  readonly ip: string
  /** Whether the order is what was waited for. */
  readonly isReady: (found: StoredOrder) => boolean
}

export type Placed =
  | { readonly outcome: 'ready'; readonly stored: StoredOrder }
  /** There is no order, or none that lasts: the wish, a limit or the end of the account forbids it. */
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  /** There is an order, and it ended before it was ready. */
  | { readonly outcome: 'ended'; readonly stored: StoredOrder }
  /** It was not ready in time and was given up; it may exist for a while. */
  | { readonly outcome: 'withdrawn' }

const ACCOUNT_DELETED = {
  outcome: 'refused',
  code: 'ACCOUNT_DELETED',
  message: 'This account was deleted meanwhile, and the order is withdrawn. Nothing has to be paid.',
} as const

type Found = Exclude<Placed, { outcome: 'withdrawn' }>

/**
 * Asks for a quote under an id that the caller made, and waits until the read model shows the order as wanted. What takes
 * too long is withdrawn; where this process dies meanwhile, the unpaid order expires by itself.
 */
export async function placeOrder(gateway: Gateway, placing: Placing): Promise<Placed> {
  if (gateway.config.restored) return readOnly
  const { orderId, wish, ip } = placing
  const until = answerBy(gateway)
  const refusal = await destinationRefusal(gateway, wish.destination)
  if (refusal !== undefined) return { outcome: 'refused', code: 'ADDRESS_NOT_PUBLIC', message: refusal }
  const { pubkey } = wish.destination
  const owner = await ownerOfNode(gateway.views, pubkey)
  const ownerId = owner?.account_id === wish.buyer.accountId ? owner.account_id : undefined
  const full = await takeSlot(gateway, { orderId, ip, destination: pubkey, ownerId })
  if (full !== undefined) return { outcome: 'refused', code: 'TOO_MANY_ORDERS', message: full }
  const commandId = gateway.ids.uuid()
  await gateway.send(ask(quote, orderId, 'RequestQuote', wish), {
    commandId,
    correlation: orderId,
    notAfter: wallInstantOf(gateway.clock, until),
  })
  const found = await gateway.waits.wait(() => look(gateway, placing, commandId), [orderId, commandId], until)
  if (found?.outcome === 'refused') await freeSlot(gateway.views, orderId)
  // Not before there is an order: with a wish that nobody can fulfil an owner would end the orders of others for nothing.
  if (found?.outcome === 'ready' && ownerId !== undefined) await makeRoom(gateway, pubkey, ownerId)
  // A deletion that did not see this order is seen here, since each looks after its own fact is in the read models.
  if (found?.outcome === 'ready' && (await isDeletedLately(gateway.views, wish.buyer.accountId))) {
    await withdrawOrder(gateway, orderId, ACCOUNT_DELETED.message)
    return ACCOUNT_DELETED
  }
  return found ?? withdraw(gateway, orderId)
}

async function look(gateway: Gateway, { orderId, isReady }: Placing, commandId: string): Promise<Found | undefined> {
  const stored = await orderById(gateway.views, orderId)
  if (!stored) {
    const answer = await gateway.commands.answerOf(commandId)
    return answer?.outcome === 'refused' ? answer : undefined
  }
  if (isFailure(stored.order.status)) return { outcome: 'ended', stored }
  return isReady(stored) ? { outcome: 'ready', stored } : undefined
}

async function withdraw(gateway: Gateway, orderId: string): Promise<Placed> {
  gateway.log.warn({ order: orderId }, 'an order was not ready in time and is withdrawn')
  const reason = `It was not ready within ${gateway.config.buyAnswerSeconds} s.`
  await withdrawOrder(gateway, orderId, reason)
  return { outcome: 'withdrawn' }
}
