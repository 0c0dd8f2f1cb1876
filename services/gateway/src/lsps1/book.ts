import type { BookEntry } from '@penstock/market/book.ts'
import { fundingFees } from '@penstock/market/price.ts'
import type { Pricing, Wish } from '@penstock/market/rank.ts'
import { noEvidence, scoreOf } from '@penstock/market/score.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Peers } from '@penstock/ports/lightning.ts'
import type { Gateway } from '../ports.ts'
import { isRails, offersOfSellers, type StoredOffer } from '../read/offers.ts'
import { availableSat } from '../views/offer-view.ts'

export type LspType = 'recommended' | 'cheapest'
export const lspTypes: readonly LspType[] = ['recommended', 'cheapest']

/** What is looked up at the market's own node: where others are, by gossip, and what transactions cost. */
export type Outside = { readonly peers: Pick<Peers, 'addresses'>; readonly chain: Pick<Chain, 'feeRate'> }

type Needs = Pick<Gateway, 'views' | 'clock' | 'config'>

/** What can be bought of the order book, as the read models have it now. */
export async function bookEntries({ views, clock, config }: Needs): Promise<readonly BookEntry[]> {
  const found = await offersOfSellers(views)
  const reserved = new Map<string, bigint>()
  for (const { offer } of found) reserved.set(offer.pubkey, (reserved.get(offer.pubkey) ?? 0n) + BigInt(offer.reservedSat))
  return found
    .filter(({ offer }) => offer.status === 'ENABLED')
    .map((one) => entryOf(one, reserved.get(one.offer.pubkey) ?? 0n, clock.now(), config.railsScore))
}

function entryOf({ offer, seller }: StoredOffer, sellerReservedSat: bigint, now: number, railsScore: number): BookEntry {
  const { terms } = offer
  return {
    offerId: offer.id,
    accountId: offer.accountId,
    status: offer.status,
    totalSizeSat: BigInt(terms.totalSizeSat),
    minSizeSat: BigInt(terms.minSizeSat),
    maxSizeSat: BigInt(terms.maxSizeSat),
    promises: terms.promises,
    conditions: terms.conditions,
    assetId: terms.assetId,
    autoAccept: terms.autoAccept,
    reservedSat: BigInt(offer.reservedSat),
    usedSat: BigInt(offer.usedSat),
    availableSat: availableSat(offer),
    createdAt: offer.createdAt,
    seller: {
      pubkey: offer.pubkey,
      live: seller?.live ?? false,
      fundsSat: BigInt(seller?.fundsSat ?? 0),
      reservedSat: sellerReservedSat,
      granted: seller?.granted ?? false,
      rails: isRails(seller, now, railsScore),
      score: seller ? scoreOf(seller.evidence, now) : 0,
      evidence: seller?.evidence ?? noEvidence,
    },
  }
}

/** Prices as the quote service makes them; without the fees, offers that charge for their funding are left out, as there. */
export async function pricingOf(
  { config, log }: Pick<Gateway, 'config' | 'log'>,
  { chain }: Outside,
  entries: readonly BookEntry[],
): Promise<Pricing> {
  if (!entries.some(({ promises }) => promises.onchainMultiplier > 0)) return { settings: config, fees: null }
  const fees = await fundingFees((blocks) => chain.feeRate(blocks)).catch((error: unknown) => {
    log.warn({ reason: String(error) }, 'the fees of a funding are not known')
    return null
  })
  return { settings: config, fees }
}

/** An announced channel for whoever asks, with the longest lease: get_info speaks of these. */
export const openWish = ({ config }: Pick<Gateway, 'config'>, sellers: readonly string[]): Wish => ({
  buyerPubkey: null,
  isPrivate: false,
  railsOnly: false,
  leaseBlocks: config.maxChannelExpiryBlocks,
  sellers,
})
