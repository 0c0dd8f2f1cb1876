import type { CancellationReason } from '@penstock/contracts/order.ts'
import { invalid, offerNotFound } from '../errors.ts'
import { amountOf, idOf, listOf, type PageInput, pageOf, pubkeyOf } from '../input.ts'
import { attest, type AttestInput, createOffer, toggleOffer, updateOffer } from '../operations/offers.ts'
import type { OfferInput, UpdateOfferInput } from '../operations/offer-input.ts'
import { createManualOrder, type ManualOrderInput } from '../operations/manual-order.ts'
import {
  acceptOrder,
  type AcceptInput,
  addTransaction,
  type AddTransactionInput,
  cancelOrder,
  rejectOrder,
} from '../operations/selling.ts'
import { currentPrice, offerById, offersPage } from '../read/offers.ts'
import { offerRecord } from './offer-record.ts'
import { changing, reading, type WithInput } from './operation.ts'
import { wholeOrder } from './user.ts'

export const marketLiquidityQueries = {
  liquidity_per_usd: reading(async (_: object, { gateway }) => {
    const price = await currentPrice(gateway.views, gateway.clock.now())
    if ('withdrawn' in price) throw invalid(price.withdrawn)
    return { id: 'market.liquidity.liquidity_per_usd', sats: price.satsPerUsd, usd: price.usdPerUsd }
  }),
}

type Filter = { readonly pubkey?: string | null; readonly status?: string | null; readonly size?: string | null }

export const marketOfferQueries = {
  offers: reading(async ({ page, filter }: { page?: PageInput; filter?: Filter }, { gateway }) => {
    const pagination = pageOf(page)
    const wanted = {
      pubkey: filter?.pubkey ? pubkeyOf(filter.pubkey, 'filter.pubkey') : undefined,
      status: filter?.status ?? undefined,
      sizeSat: filter?.size ? amountOf(filter.size, 'filter.size') : undefined,
    }
    const { total, list } = await offersPage(gateway.views, pagination, wanted)
    return {
      ...listOf('market.offer.offers', pagination, wanted),
      total_count: total,
      list: list.map((stored) => offerRecord(gateway, stored)),
    }
  }),
  offer: reading(async ({ offer_id }: { offer_id: string }, { gateway }) => {
    const stored = await offerById(gateway.views, idOf(offer_id))
    if (!stored) throw offerNotFound()
    return offerRecord(gateway, stored)
  }),
}

export const offerMutations = {
  create: changing(({ input }: WithInput<OfferInput>, { gateway, caller }) => createOffer(gateway, caller, input)),
  update: changing(({ input }: WithInput<UpdateOfferInput>, { gateway, caller }) => updateOffer(gateway, caller, input)),
  toggle: changing(({ input }: WithInput<{ offer_id: string }>, { gateway, caller }) => toggleOffer(gateway, caller, input)),
  attest: changing(({ input }: WithInput<AttestInput>, { gateway, caller }) => attest(gateway, caller, input)),
}

type CancelInput = { readonly order_id: string; readonly cancellation_reason?: CancellationReason | null }

export const orderMutations = {
  create: changing(async ({ input }: WithInput<ManualOrderInput>, { gateway, caller, ip }) =>
    wholeOrder(gateway, await createManualOrder(gateway, { caller, ip }, input)),
  ),
  cancel: changing(({ input }: WithInput<CancelInput>, { gateway, caller }) => cancelOrder(gateway, caller, input)),
}

type RejectInput = { readonly order_id: string; readonly reason?: string | null }

export const sellerMutations = {
  accept: changing(({ input }: WithInput<AcceptInput>, { gateway, caller }) => acceptOrder(gateway, caller, input)),
  reject: changing(({ input }: WithInput<RejectInput>, { gateway, caller }) => rejectOrder(gateway, caller, input)),
  add_transaction: changing(({ input }: WithInput<AddTransactionInput>, { gateway, caller }) =>
    addTransaction(gateway, caller, input),
  ),
}
