import { offerContract, type OfferFact, sellerContract, type SellerFact } from '@penstock/contracts/matching.ts'
import { priceContract, type PriceFact } from '@penstock/contracts/quote.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { evolveOfferView, type OfferView } from './offer-view.ts'
import { evolveSellerView, type SellerView } from './seller-view.ts'
import { withMarketTablesIn, type MarketTables } from './tables.ts'

export async function applyToMarket(trx: Transaction<object>, event: Event): Promise<void> {
  const db = withMarketTablesIn(trx)
  // The runtime checked the fact against its contract.
  if (event.category === offerContract.category) await applyOffer(db, event as Event<OfferFact>)
  else if (event.category === sellerContract.category) await applySeller(db, event as Event<SellerFact>)
  else if (event.category === priceContract.category) await applyPrice(db, event as Event<PriceFact>)
}

async function applyOffer(db: Transaction<MarketTables>, event: Event<OfferFact>): Promise<void> {
  const row = await db.selectFrom('gateway_offers_v2').select('view').where('id', '=', event.aggregateId).executeTakeFirst()
  const view = evolveOfferView(row && (JSON.parse(row.view) as OfferView), event) // this function writes the view
  const { minSizeSat, maxSizeSat } = view.terms
  const changes = {
    status: view.status,
    min_size_sat: Number(minSizeSat),
    max_size_sat: Number(maxSizeSat),
    view: JSON.stringify(view),
  }
  await db
    .insertInto('gateway_offers_v2')
    .values({ id: view.id, account_id: view.accountId, pubkey: view.pubkey, created_at: view.createdAt, ...changes })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changes))
    .execute()
  if (event.fact.type !== 'CapacityReserved') return
  await db
    .insertInto('gateway_offer_orders_v2')
    .values({ offer_id: view.id, order_id: event.fact.data.orderId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function applySeller(db: Transaction<MarketTables>, event: Event<SellerFact>): Promise<void> {
  const pubkey = event.aggregateId
  const row = await db.selectFrom('gateway_sellers_v2').select('view').where('pubkey', '=', pubkey).executeTakeFirst()
  const view = evolveSellerView(row && (JSON.parse(row.view) as SellerView), event) // this function writes the view
  const changes = { live: view.live ? 1 : 0, view: JSON.stringify(view) }
  await db
    .insertInto('gateway_sellers_v2')
    .values({ pubkey, ...changes })
    .onConflict((conflict) => conflict.column('pubkey').doUpdateSet(changes))
    .execute()
}

/**
 * Stores the newest price in one row. Each day has its own stream of prices. Within a day the stream's order decides, because
 * a replica with a slow clock may give a later price an earlier timestamp.
 */
async function applyPrice(db: Transaction<MarketTables>, { aggregateId: day, at, fact }: Event<PriceFact>): Promise<void> {
  const nextDay = Date.parse(`${day}T00:00:00Z`) + DAY_MS
  const changes =
    fact.type === 'PriceSet'
      ? {
          sats_per_usd: fact.data.satsPerUsd,
          usd_per_usd: fact.data.usdPerUsd,
          valid_until: fact.data.validUntil,
          at,
          withdrawn: null,
        }
      : { sats_per_usd: '0', usd_per_usd: '0', valid_until: 0, at, withdrawn: fact.data.reason }
  await db
    .insertInto('gateway_prices_v2')
    .values({ name: 'now', ...changes })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet(changes)
        .where('gateway_prices_v2.at', '<', Math.max(nextDay, at + 1)),
    )
    .execute()
}
