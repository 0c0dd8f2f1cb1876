import type { orderTerms } from '@penstock/contracts/order.ts'
import type { QuoteRefusal } from '@penstock/contracts/quote.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'

export type Rate = NonNullable<ReturnType<(typeof orderTerms)['parse']>['rate']>
export type RateReading = { readonly source: string; readonly centsPerBtc: bigint; readonly at: number }
export type CurrentRate = { readonly rate: Rate } | { readonly refused: Refusal<QuoteRefusal> }

export type RateLimits = {
  readonly rateMaxAgeSeconds: number
  readonly rateSpreadPercent: number
  /** Number of configured sources. */
  readonly sources: number
}

/** Minimum number of samples if there are that many sources, because a single wrong sample cannot be detected. */
const QUORUM = 2

/**
 * The rate is the median of the fresh samples, with the oldest of their timestamps. There is no rate without enough fresh
 * samples, or with samples that differ too much.
 */
export function combineRates(
  samples: readonly RateReading[],
  now: number,
  { rateMaxAgeSeconds, rateSpreadPercent, sources }: RateLimits,
): CurrentRate {
  const fresh = samples.filter(({ at, centsPerBtc }) => now - at <= rateMaxAgeSeconds * 1000 && centsPerBtc > 0n)
  const sorted = fresh.toSorted((a, b) => (a.centsPerBtc < b.centsPerBtc ? -1 : 1))
  const [lowest] = sorted
  const highest = sorted.at(-1)
  if (!lowest || !highest)
    return refuse('RATE_STALE', `Exchange rate unavailable: no source updated in the last ${rateMaxAgeSeconds} s.`)
  if (fresh.length < Math.min(QUORUM, sources))
    return refuse(
      'RATE_STALE',
      `Exchange rate unavailable: only ${fresh.length} of ${QUORUM} needed sources updated in the last ${rateMaxAgeSeconds} s.`,
    )
  const centsPerBtc = median(sorted)
  // In hundredths of a per cent, so that the comparison is exact.
  const spread = ((highest.centsPerBtc - lowest.centsPerBtc) * 10_000n) / centsPerBtc
  if (spread > BigInt(Math.round(rateSpreadPercent * 100)))
    return refuse(
      'RATES_DIFFER',
      `The sources of the rate differ by more than ${rateSpreadPercent} %; try again when they agree.`,
    )
  return {
    rate: {
      centsPerBtc: `${centsPerBtc}`,
      at: Math.min(...fresh.map(({ at }) => at)),
      samples: fresh.map((sample) => ({ ...sample, centsPerBtc: `${sample.centsPerBtc}` })),
    },
  }
}

/** For an even number of samples, the mean of the two middle samples. */
function median(sorted: readonly RateReading[]): bigint {
  const upper = sorted[Math.floor(sorted.length / 2)]?.centsPerBtc ?? 0n
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]?.centsPerBtc ?? 0n
  return (lower + upper) / 2n
}
