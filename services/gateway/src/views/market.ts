import { offer, type OfferFact, seller, type SellerFact } from '@penstock/contracts/matching.ts'
import { price, type PriceFact } from '@penstock/contracts/quote.ts'
import { DAY_MS } from '@penstock/kernel/time.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { Transaction } from 'kysely'
import { offerView, type OfferView } from './offer-view.ts'
import { sellerView, type SellerView } from './seller-view.ts'
import { tablesIn, type Tables } from './tables.ts'

export async function applyToMarket(trx: Transaction<object>, event: Event): Promise<void> {
  const db = tablesIn(trx)
  // A fact's shape is its contract's: the runtime checked it when it was read.
  if (event.category === offer.category) await applyOffer(db, event as Event<OfferFact>)
  else if (event.category === seller.category) await applySeller(db, event as Event<SellerFact>)
  else if (event.category === price.category) await applyPrice(db, event as Event<PriceFact>)
}

async function applyOffer(db: Transaction<Tables>, event: Event<OfferFact>): Promise<void> {
  const row = await db.selectFrom('gateway_offers').select('view').where('id', '=', event.aggregateId).executeTakeFirst()
  const view = offerView(row && (JSON.parse(row.view) as OfferView), event) // written below
  const { minSizeSat, maxSizeSat } = view.terms
  const changing = {
    status: view.status,
    min_size_sat: Number(minSizeSat),
    max_size_sat: Number(maxSizeSat),
    view: JSON.stringify(view),
  }
  await db
    .insertInto('gateway_offers')
    .values({ id: view.id, account_id: view.accountId, pubkey: view.pubkey, created_at: view.createdAt, ...changing })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changing))
    .execute()
}

async function applySeller(db: Transaction<Tables>, event: Event<SellerFact>): Promise<void> {
  const pubkey = event.aggregateId
  const row = await db.selectFrom('gateway_sellers').select('view').where('pubkey', '=', pubkey).executeTakeFirst()
  const view = sellerView(row && (JSON.parse(row.view) as SellerView), event) // written below
  const changing = { live: view.live ? 1 : 0, view: JSON.stringify(view) }
  await db
    .insertInto('gateway_sellers')
    .values({ pubkey, ...changing })
    .onConflict((conflict) => conflict.column('pubkey').doUpdateSet(changing))
    .execute()
}

/**
 * One row, the newest word of all days' streams. Within a day the stream's order decides: a replica whose clock is behind
 * may tell the later price with the earlier time.
 */
async function applyPrice(db: Transaction<Tables>, { aggregateId: day, at, fact }: Event<PriceFact>): Promise<void> {
  const nextDay = Date.parse(`${day}T00:00:00Z`) + DAY_MS
  const changing =
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
    .insertInto('gateway_prices')
    .values({ name: 'now', ...changing })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet(changing)
        .where('gateway_prices.at', '<', Math.max(nextDay, at + 1)),
    )
    .execute()
}
