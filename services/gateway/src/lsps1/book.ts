import { sumFundedSat } from '@penstock/market/funded-reservations.ts'
import type { BookEntry, SellerEntry } from '@penstock/market/order-book.ts'
import { estimateFundingFees } from '@penstock/market/price.ts'
import type { Pricing, SellerRequirements } from '@penstock/market/rank.ts'
import { noEvidence, computeScore } from '@penstock/market/score.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Peers } from '@penstock/ports/lightning.ts'
import type { Gateway } from '../ports.ts'
import { isInRailsCluster, listOffersOfSellers, type StoredOffer } from '../market/read/offers.ts'
import { computeAvailableSat } from '../market/views/offer-view.ts'

export type LspType = 'recommended' | 'cheapest'
export const lspTypes: readonly LspType[] = ['recommended', 'cheapest']

/** Ports of the market's own node: addresses of nodes from gossip, and the fee rate of transactions. */
export type NodeSources = { readonly peers: Pick<Peers, 'addresses'>; readonly chain: Pick<Chain, 'feeRate'> }

type BookPorts = Pick<Gateway, 'views' | 'clock' | 'config'>

/** Lists the enabled offers of the order book, from the read models. */
export async function readBookEntries({ views, clock, config }: BookPorts): Promise<readonly BookEntry[]> {
  const offers = await listOffersOfSellers(views)
  const reservations = new Map<string, SellerReservations>()
  for (const { offer, seller } of offers) {
    const { reservedSat, fundedSat } = reservations.get(offer.pubkey) ?? NO_RESERVATIONS
    reservations.set(offer.pubkey, {
      reservedSat: reservedSat + BigInt(offer.reservedSat),
      fundedSat: fundedSat + sumFundedSat(offer.funded ?? {}, seller?.attestedAt ?? 0),
    })
  }
  return offers
    .filter(({ offer }) => offer.status === 'ENABLED')
    .map((storedOffer) => {
      const sums = reservations.get(storedOffer.offer.pubkey) ?? NO_RESERVATIONS
      return toBookEntry(storedOffer, sums, clock.now(), config.railsScore)
    })
}

/** The sums over all offers of a seller. */
type SellerReservations = Pick<SellerEntry, 'reservedSat' | 'fundedSat'>
const NO_RESERVATIONS: SellerReservations = { reservedSat: 0n, fundedSat: 0n }

function toBookEntry({ offer, seller }: StoredOffer, sums: SellerReservations, now: number, railsScore: number): BookEntry {
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
    availableSat: computeAvailableSat(offer),
    createdAt: offer.createdAt,
    seller: {
      pubkey: offer.pubkey,
      live: seller?.live ?? false,
      fundsSat: BigInt(seller?.fundsSat ?? 0),
      ...sums,
      granted: seller?.granted ?? false,
      rails: isInRailsCluster(seller, now, railsScore),
      score: seller ? computeScore(seller.evidence, now) : 0,
      evidence: seller?.evidence ?? noEvidence,
    },
  }
}

/** Reads the same pricing as the quote service. Without a fee rate, both services exclude offers that charge a funding fee. */
export async function readPricing(
  { config, log }: Pick<Gateway, 'config' | 'log'>,
  { chain }: NodeSources,
  entries: readonly BookEntry[],
): Promise<Pricing> {
  if (!entries.some(({ promises }) => promises.onchainMultiplier > 0)) return { settings: config, fees: null }
  const fees = await estimateFundingFees((blocks) => chain.feeRate(blocks)).catch((error: unknown) => {
    log.warn({ reason: String(error) }, 'estimating the funding fees failed; excluding offers that charge for them')
    return null
  })
  return { settings: config, fees }
}

/** Creates the request that determines the bounds of get_info: an announced channel with the longest lease for any buyer. */
export const createGenericRequest = ({ config }: Pick<Gateway, 'config'>, sellers: readonly string[]): SellerRequirements => ({
  buyerPubkey: null,
  isPrivate: false,
  railsOnly: false,
  leaseBlocks: config.maxChannelExpiryBlocks,
  sellers,
})
