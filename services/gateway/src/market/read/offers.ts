import { computeScore } from '@penstock/market/score.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { OfferView } from '../views/offer-view.ts'
import type { SellerView } from '../views/seller-view.ts'
import { withMarketTables } from '../views/tables.ts'
import type { Page, ListPage } from '../../list-page.ts'

type Db = Pick<Views, 'db'>
export type StoredOffer = { readonly offer: OfferView; readonly seller: SellerView | undefined }

export type OfferFilter = {
  /** The account whose offers are listed; undefined lists the offers of all accounts. */
  readonly accountId?: string
  readonly pubkey: string | undefined
  readonly status: string | undefined
  /** Offers that sell a channel of this size, in sat. */
  readonly sizeSat: bigint | undefined
}

// The projections write these texts from the same types.
const toStoredOffer = ({ view, seller }: { view: string; seller: string | null }): StoredOffer => ({
  offer: JSON.parse(view) as OfferView,
  seller: seller === null ? undefined : (JSON.parse(seller) as SellerView),
})

const selectOffers = (views: Db) =>
  withMarketTables(views).selectFrom('gateway_offers_v2 as o').leftJoin('gateway_sellers_v2 as s', 's.pubkey', 'o.pubkey')

export async function findOffer(views: Db, id: string): Promise<StoredOffer | undefined> {
  const row = await selectOffers(views).select(['o.view', 's.view as seller']).where('o.id', '=', id).executeTakeFirst()
  return row && toStoredOffer(row)
}

/** Lists the ids of an account's enabled offers. */
export async function listEnabledOfferIds(views: Db, accountId: string): Promise<readonly string[]> {
  const offers = withMarketTables(views).selectFrom('gateway_offers_v2').select('id').where('account_id', '=', accountId)
  return (await offers.where('status', '=', 'ENABLED').execute()).map(({ id }) => id)
}

/**
 * Lists all offers of sellers that have an enabled offer, for ranking. A disabled offer is included, because its reserved
 * capacity limits the other offers of the same seller.
 */
export async function listOffersOfSellers(views: Db): Promise<readonly StoredOffer[]> {
  const selling = withMarketTables(views).selectFrom('gateway_offers_v2').select('pubkey').where('status', '=', 'ENABLED')
  const found = await selectOffers(views).select(['o.view', 's.view as seller']).where('o.pubkey', 'in', selling).execute()
  return found.map(toStoredOffer)
}

/** Lists the matching offers, oldest first, so that a new offer does not change the earlier pages. */
export async function listOffers(
  views: Db,
  { limit, offset }: Page,
  { accountId, pubkey, status, sizeSat }: OfferFilter,
): Promise<ListPage<StoredOffer>> {
  const matching = selectOffers(views)
    .$if(accountId !== undefined, (query) => query.where('o.account_id', '=', accountId ?? ''))
    .$if(pubkey !== undefined, (query) => query.where('o.pubkey', '=', pubkey ?? ''))
    .$if(status !== undefined, (query) => query.where('o.status', '=', status ?? ''))
    .$if(sizeSat !== undefined, (query) =>
      query.where('o.max_size_sat', '>=', Number(sizeSat)).where('o.min_size_sat', '<=', Number(sizeSat)),
    )
  const { total } = await matching.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow()
  const list = await matching
    .select(['o.view', 's.view as seller'])
    .orderBy('o.created_at')
    .orderBy('o.id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { total: Number(total), list: list.map(toStoredOffer) }
}

/** Whether a seller is in the rails cluster: by an operator's grant, or live with a score that reaches the threshold. */
export const isInRailsCluster = (seller: SellerView | undefined, now: number, railsScore: number): boolean =>
  seller !== undefined && (seller.granted || (seller.live && computeScore(seller.evidence, now) >= railsScore))

/** Reads the current price of a dollar, or the reason why no price is available. */
export async function readCurrentPrice(
  views: Db,
  now: number,
): Promise<{ readonly satsPerUsd: string; readonly usdPerUsd: string } | { readonly withdrawn: string }> {
  const row = await withMarketTables(views)
    .selectFrom('gateway_prices_v2')
    .selectAll()
    .where('name', '=', 'now')
    .executeTakeFirst()
  if (!row) return { withdrawn: 'There is no price yet: nobody sells, or no rate is known.' }
  if (row.withdrawn !== null) return { withdrawn: row.withdrawn }
  if (row.valid_until < now) return { withdrawn: 'The price is too old to be shown; a new one is on its way.' }
  return { satsPerUsd: row.sats_per_usd, usdPerUsd: row.usd_per_usd }
}
