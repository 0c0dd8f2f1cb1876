import { scoreOf } from '@penstock/market/score.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Page } from '../input.ts'
import type { OfferView } from '../views/offer-view.ts'
import type { SellerView } from '../views/seller-view.ts'
import { tablesOf } from '../views/tables.ts'
import type { Listed } from './orders.ts'

type Db = Pick<Views, 'db'>
export type StoredOffer = { readonly offer: OfferView; readonly seller: SellerView | undefined }

export type OfferFilter = {
  readonly pubkey: string | undefined
  readonly status: string | undefined
  /** Offers that sell a channel of this size, in sat. */
  readonly sizeSat: bigint | undefined
}

// The texts are written by the projections from these very types.
const stored = ({ view, seller }: { view: string; seller: string | null }): StoredOffer => ({
  offer: JSON.parse(view) as OfferView,
  seller: seller === null ? undefined : (JSON.parse(seller) as SellerView),
})

const rows = (views: Db) =>
  tablesOf(views).selectFrom('gateway_offers as o').leftJoin('gateway_sellers as s', 's.pubkey', 'o.pubkey')

export async function offerById(views: Db, id: string): Promise<StoredOffer | undefined> {
  const row = await rows(views).select(['o.view', 's.view as seller']).where('o.id', '=', id).executeTakeFirst()
  return row && stored(row)
}

/** Ids of an account's offers that are on the market. */
export async function enabledOffersOf(views: Db, accountId: string): Promise<readonly string[]> {
  const offers = tablesOf(views).selectFrom('gateway_offers').select('id').where('account_id', '=', accountId)
  return (await offers.where('status', '=', 'ENABLED').execute()).map(({ id }) => id)
}

/**
 * All offers of those who sell anything now, for whoever ranks them: what is reserved at an offer that is disabled by now
 * is the same seller's money as what its others sell.
 */
export async function offersOfSellers(views: Db): Promise<readonly StoredOffer[]> {
  const selling = tablesOf(views).selectFrom('gateway_offers').select('pubkey').where('status', '=', 'ENABLED')
  const found = await rows(views).select(['o.view', 's.view as seller']).where('o.pubkey', 'in', selling).execute()
  return found.map(stored)
}

/** The public book, oldest first, so that pages stay where they are while offers come. */
export async function offersPage(
  views: Db,
  { limit, offset }: Page,
  { pubkey, status, sizeSat }: OfferFilter,
): Promise<Listed<StoredOffer>> {
  const wanted = rows(views)
    .$if(pubkey !== undefined, (query) => query.where('o.pubkey', '=', pubkey ?? ''))
    .$if(status !== undefined, (query) => query.where('o.status', '=', status ?? ''))
    .$if(sizeSat !== undefined, (query) =>
      query.where('o.max_size_sat', '>=', Number(sizeSat)).where('o.min_size_sat', '<=', Number(sizeSat)),
    )
  const { total } = await wanted.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow()
  const list = await wanted
    .select(['o.view', 's.view as seller'])
    .orderBy('o.created_at')
    .orderBy('o.id')
    .limit(limit)
    .offset(offset)
    .execute()
  return { total: Number(total), list: list.map(stored) }
}

/** In the rails cluster: by an operator's grant, or live with a score above the threshold. */
export const isRails = (seller: SellerView | undefined, now: number, railsScore: number): boolean =>
  seller !== undefined && (seller.granted || (seller.live && scoreOf(seller.evidence, now) >= railsScore))

/** What a dollar buys now; undefined where nobody knows. */
export async function currentPrice(
  views: Db,
  now: number,
): Promise<{ readonly satsPerUsd: string; readonly usdPerUsd: string } | { readonly withdrawn: string }> {
  const row = await tablesOf(views).selectFrom('gateway_prices').selectAll().where('name', '=', 'now').executeTakeFirst()
  if (!row) return { withdrawn: 'There is no price yet: nobody sells, or no rate is known.' }
  if (row.withdrawn !== null) return { withdrawn: row.withdrawn }
  if (row.valid_until < now) return { withdrawn: 'The price is too old to be shown; a new one is on its way.' }
  return { satsPerUsd: row.sats_per_usd, usdPerUsd: row.usd_per_usd }
}
