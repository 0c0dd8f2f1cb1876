import { type Caller, identity } from '../callers.ts'
import { invalid, offerNotFound, unanswered } from '../errors.ts'
import { amountOf, idOf, pubkeyOf, textOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { asBuyer, type OrderInRole } from '../read/sales.ts'
import { keepText } from './buy.ts'
import { placeOrder } from './place-order.ts'

export type ManualOrderInput = {
  readonly offer_id: string
  readonly pubkey: string
  readonly size: string
  readonly payment_method?: string | null
  readonly referrer?: string | null
  readonly options?: { readonly asset_id?: string | null; readonly private?: boolean | null } | null
}

/** An order on an offer that the buyer has chosen. Its seller may be asked first: the invoice comes when it has accepted. */
export async function createManualOrder(
  gateway: Gateway,
  { caller, ip }: { readonly caller: Caller | null; readonly ip: string },
  input: ManualOrderInput,
): Promise<OrderInRole> {
  const buyer = identity(caller)
  if (input.payment_method && input.payment_method !== 'SATS') throw invalid('payment_method must be "SATS"')
  const referrer = input.referrer ? textOf(input.referrer, 'referrer', 1, 200) : null
  const wish = {
    source: 'manual' as const,
    buyer: { accountId: buyer.accountId, key: null },
    destination: { pubkey: pubkeyOf(input.pubkey), sockets: [] },
    isPrivate: input.options?.private ?? false,
    railsOnly: false,
    assetId: input.options?.asset_id ? textOf(input.options.asset_id, 'options.asset_id', 1, 128) : null,
    usdCents: null,
    sizeSat: `${amountOf(input.size, 'size', { min: 1n })}`,
    offerId: idOf(input.offer_id),
    sellers: null,
    leaseBlocks: null,
    requiredConfirmations: null,
    fundingConfirmsWithinBlocks: null,
    lsps: null,
    record: referrer === null ? null : await keepText(gateway, 'referrer', { referrer }),
  }
  const orderId = gateway.ids.uuid()
  const placed = await placeOrder(gateway, { orderId, ip, wish, isReady: () => true })
  if (placed.outcome === 'refused') {
    if (wish.record) await gateway.records.delete(wish.record.id)
    throw placed.code === 'OFFER_NOT_FOUND' ? offerNotFound() : invalid(placed.message, { reason: placed.code })
  }
  if (placed.outcome === 'withdrawn')
    throw unanswered('The order was not placed in time and is withdrawn. Look at it with get_order.', { transaction_id: orderId })
  return asBuyer(placed.stored)
}
