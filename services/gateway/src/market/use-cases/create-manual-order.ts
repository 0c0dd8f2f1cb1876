import { identityHolder } from '../../access.ts'
import { marketBusy, invalidInput, offerNotFound, outcomeUnknown } from '../../errors.ts'
import { toFullOrderRecord } from '../records/full-order-record.ts'
import { parseAmountField, parseId, parsePubkeyField, parseTextField } from '../../input.ts'
import { noLspTerms, placeOrder } from '../purchase/place-order.ts'
import { storeText } from '../../store-text.ts'
import { toBuyerOrder } from '../read/sales.ts'
import { mutation } from '../../use-case.ts'
import { buyLimit } from '../purchase/buy-limit.ts'
import type { MarketOrderMutationsCreateArgs } from '../../generated/schema-types.ts'

function parseManualOrder({ input }: MarketOrderMutationsCreateArgs) {
  if (input.payment_method && input.payment_method !== 'SATS') throw invalidInput('payment_method must be "SATS"')
  const referrer = input.referrer ? parseTextField(input.referrer, 'referrer', 1, 200) : null
  const request = {
    ...noLspTerms,
    source: 'manual' as const,
    destination: { pubkey: parsePubkeyField(input.pubkey), sockets: [] },
    isPrivate: input.options?.private ?? false,
    railsOnly: false,
    assetId: input.options?.asset_id ? parseTextField(input.options.asset_id, 'options.asset_id', 1, 128) : null,
    usdCents: null,
    sizeSat: `${parseAmountField(input.size, 'size', { min: 1n })}`,
    offerId: parseId(input.offer_id),
  }
  return { referrer, request }
}

/** Places an order on a chosen offer. Without auto_accept, the order gets its invoice only after the seller has accepted. */
export const createManualOrder = mutation({
  path: 'market.order.create',
  limit: buyLimit,
  access: identityHolder,
  input: parseManualOrder,
  run: async ({ referrer, request }, { gateway, caller, ip }) => {
    const orderId = gateway.ids.uuid()
    const result = await placeOrder(gateway, {
      orderId,
      ip,
      prepare: async () => ({
        ...request,
        buyer: { accountId: caller.accountId, key: null },
        record: referrer === null ? null : await storeText(gateway, 'referrer', { referrer }),
      }),
      isReady: ({ order }) => !order.terms.autoAccepted || order.invoice !== null,
    })
    if (result.outcome === 'busy') throw marketBusy(result.seconds)
    if (result.outcome === 'refused')
      throw result.code === 'OFFER_NOT_FOUND' ? offerNotFound() : invalidInput(result.message, { reason: result.code })
    const errorDetails = { transaction_id: orderId }
    if (result.outcome === 'ended')
      throw invalidInput(result.stored.order.reason ?? 'The order could not be placed.', errorDetails)
    if (result.outcome === 'withdrawn')
      throw outcomeUnknown('The order was not placed in time and is withdrawn. Look at it with get_order.', errorDetails)
    return toFullOrderRecord(gateway, toBuyerOrder(result.stored), caller)
  },
})
