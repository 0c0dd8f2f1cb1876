import { anyone, type AuthenticatedCaller, accountHolder } from '../../access.ts'
import { toOfferRecord } from '../records/offer-record.ts'
import { isGiven, parseAmountField, parsePubkeyField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { listOffers } from '../read/offers.ts'
import { query } from '../../use-case.ts'
import { describeList, parsePage } from '../../list-page.ts'
import type { MarketOfferQueriesOffersArgs } from '../../generated/schema-types.ts'

const parseOfferList = ({ page, filter }: MarketOfferQueriesOffersArgs) => ({
  page: parsePage(page),
  filter: {
    pubkey: isGiven(filter?.pubkey) ? parsePubkeyField(filter.pubkey, 'filter.pubkey') : undefined,
    status: filter?.status ?? undefined,
    sizeSat: isGiven(filter?.size) ? parseAmountField(filter.size, 'filter.size') : undefined,
  },
})

/** Lists the offers of the market. */
export const getOffers = query({
  path: 'market.offer.offers',
  access: anyone,
  input: parseOfferList,
  run: (input, context) => listOfferRecords(context, 'market.offer.offers', input),
})

/** Lists the caller's own offers. `market.offer` lists the offers of all accounts. */
export const getOwnOffers = query({
  path: 'user.market.offers.offers',
  access: accountHolder,
  input: parseOfferList,
  run: (input, context) => {
    const { accountId } = context.caller
    return listOfferRecords(context, `${accountId}/offers`, input, accountId)
  },
})

/** Reads a page of offers. @param accountId the owner of the offers; undefined selects the offers of all accounts */
async function listOfferRecords(
  { gateway, caller }: { readonly gateway: Gateway; readonly caller: AuthenticatedCaller | null },
  name: string,
  { page, filter }: ReturnType<typeof parseOfferList>,
  accountId?: string,
) {
  const { total, list } = await listOffers(gateway.views, page, { ...filter, ...(accountId && { accountId }) })
  return {
    ...describeList(name, page, filter),
    total,
    total_count: total,
    list: list.map((stored) => toOfferRecord(gateway, stored, caller)),
  }
}
