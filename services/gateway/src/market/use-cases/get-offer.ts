import { anyone, type AuthenticatedCaller, accountHolder } from '../../access.ts'
import { offerNotFound } from '../../errors.ts'
import { isOfferOwner, toOfferRecord } from '../records/offer-record.ts'
import { toOrderListRecord } from '../records/order-record.ts'
import { parseId } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { findOffer, type StoredOffer } from '../read/offers.ts'
import { listSales } from '../read/sales.ts'
import { query } from '../../use-case.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { MarketOfferOrdersArgs, MarketOfferQueriesOfferArgs } from '../../generated/schema-types.ts'

const parseOfferId = ({ offer_id }: MarketOfferQueriesOfferArgs): string => parseId(offer_id)

export const getOffer = query({
  path: 'market.offer.offer',
  access: anyone,
  input: parseOfferId,
  run: async (offerId, { gateway, caller }) => {
    const stored = await findOffer(gateway.views, offerId)
    if (!stored) throw offerNotFound()
    return toFullOfferRecord(gateway, stored, caller)
  },
})

export const getOwnOffer = query({
  path: 'user.market.offers.get_offer',
  access: accountHolder,
  input: parseOfferId,
  run: async (offerId, { gateway, caller }) => {
    const stored = await findOffer(gateway.views, offerId)
    if (stored?.offer.accountId !== caller.accountId) throw offerNotFound()
    return toFullOfferRecord(gateway, stored, caller)
  },
})

const noOrders = { total: 0, list: [] }

/** Adds the orders, which are read only if the document requests them. */
const toFullOfferRecord = (gateway: Gateway, stored: StoredOffer, caller: AuthenticatedCaller | null) => ({
  ...toOfferRecord(gateway, stored, caller),
  orders: async ({ page }: MarketOfferOrdersArgs) => {
    const { id: offerId, accountId } = stored.offer
    const pagination = parsePage(page)
    const filter = { peerPubkey: undefined, actionNeeded: undefined, offerId }
    const found = isOfferOwner(stored.offer, caller) ? await listSales(gateway.views, accountId, pagination, filter) : noOrders
    return toOrderListRecord(gateway, describeList(`${offerId}/orders`, pagination), found)
  },
})
