import { noEvidence, computeScore } from '@penstock/market/score.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { AuthenticatedCaller } from '../../access.ts'
import type { Gateway } from '../../ports.ts'
import { isInRailsCluster, type StoredOffer } from '../read/offers.ts'
import { computeAvailableSat, computeLockedSat } from '../views/offer-view.ts'
import { toAssetRecord, toNodeRecord } from './order-record.ts'

type OfferRecordPorts = Pick<Gateway, 'clock' | 'config' | 'lookUpNode'>

/** Returns an offer as the API shows it. The GraphQL types SimpleMarketOffer and MarketOffer have subsets of these fields. */
export function toOfferRecord(gateway: OfferRecordPorts, { offer, seller }: StoredOffer, caller: AuthenticatedCaller | null) {
  const { clock, config } = gateway
  const { terms } = offer
  const { promises } = terms
  const now = clock.now()
  const { counts, ...evidence } = seller?.evidence ?? noEvidence
  const sats = (part: string, amount: bigint | number | string) => ({ id: `${offer.id}/${part}`, sats: `${amount}` })
  const sizes = (part: string, amount: bigint | string) => ({ id: `${offer.id}/${part}`, satoshi: sats(part, amount) })
  return {
    id: offer.id,
    status: offer.status,
    pubkey: offer.pubkey,
    total_size: terms.totalSizeSat,
    locked_size: `${computeLockedSat(offer)}`,
    available_size: `${computeAvailableSat(offer)}`,
    min_size: terms.minSizeSat,
    max_size: terms.maxSizeSat,
    min_block_length: promises.minBlockLength,
    fee_rate: promises.feeRatePpm,
    base_fee: promises.baseFeeSat,
    fee_rate_cap: promises.feeRateCapPpm,
    base_fee_cap: promises.baseFeeCapSat,
    onchain_priority: promises.onchainPriority,
    onchain_multiplier: promises.onchainMultiplier,
    conditions: terms.conditions.map((condition, index) => ({ id: `${offer.id}/${index}`, ...condition })),
    asset_id: terms.assetId,
    auto_accept: terms.autoAccept,
    seller: {
      id: offer.pubkey,
      live: seller?.live ?? false,
      rails: isInRailsCluster(seller, now, config.railsScore),
      score: computeScore({ counts, ...evidence }, now),
      outcomes: Object.entries(counts).map(([outcome, count]) => ({ id: `${offer.pubkey}/${outcome}`, outcome, count })),
    },
    node: toNodeRecord(gateway, `${offer.id}/node`, { pubkey: offer.pubkey, sockets: [] }),
    total_amount: sizes('total', terms.totalSizeSat),
    locked_amount: sizes('locked', computeLockedSat(offer)),
    min_amount: sizes('min', terms.minSizeSat),
    max_amount: sizes('max', terms.maxSizeSat),
    fees: {
      id: offer.id,
      fixed: sats('fixed', promises.baseFeeSat),
      variable: sats('variable', promises.feeRatePpm),
      amboss: sats('platform', config.platformFeePpm),
    },
    promises: {
      id: offer.id,
      min_block_length: promises.minBlockLength,
      fee_rate_cap: promises.feeRateCapPpm,
      base_fee_cap: promises.baseFeeCapSat,
    },
    asset: toAssetRecord(terms.assetId),
    filled_orders: offer.filledOrders,
    is_owner: isOfferOwner(offer, caller),
    created_at: isoTime(offer.createdAt),
    updated_at: isoTime(offer.updatedAt),
  }
}

/** Whether the caller owns the offer. An order key acts only for a buyer, so it owns no offer of its account. */
export const isOfferOwner = ({ accountId }: StoredOffer['offer'], caller: AuthenticatedCaller | null): boolean =>
  caller?.orderId === null && caller.accountId === accountId
