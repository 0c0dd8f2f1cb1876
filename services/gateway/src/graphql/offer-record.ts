import { noEvidence, scoreOf } from '@penstock/market/score.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import type { Gateway } from '../ports.ts'
import { isRails, type StoredOffer } from '../read/offers.ts'
import { availableSat, lockedSat } from '../views/offer-view.ts'

/** An offer as the public interface shows it: SimpleMarketOffer and MarketOffer choose from the same fields. */
export function offerRecord({ clock, config }: Pick<Gateway, 'clock' | 'config'>, { offer, seller }: StoredOffer) {
  const { terms } = offer
  const { promises } = terms
  const now = clock.now()
  const { counts, ...evidence } = seller?.evidence ?? noEvidence
  return {
    id: offer.id,
    status: offer.status,
    pubkey: offer.pubkey,
    total_size: terms.totalSizeSat,
    locked_size: `${lockedSat(offer)}`,
    available_size: `${availableSat(offer)}`,
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
      rails: isRails(seller, now, config.railsScore),
      score: scoreOf({ counts, ...evidence }, now),
      outcomes: Object.entries(counts).map(([outcome, count]) => ({ id: `${offer.pubkey}/${outcome}`, outcome, count })),
    },
    created_at: isoTime(offer.createdAt),
    updated_at: isoTime(offer.updatedAt),
  }
}
