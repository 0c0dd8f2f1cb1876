import type { orderTerms } from '@penstock/contracts/order.ts'
import type { QuoteRefusal } from '@penstock/contracts/quote.ts'
import { type Refusal, refuse } from '@penstock/kernel/decider.ts'

export type Rate = NonNullable<ReturnType<(typeof orderTerms)['parse']>['rate']>
export type Sample = { readonly source: string; readonly centsPerBtc: bigint; readonly at: number }
export type RateNow = { readonly rate: Rate } | { readonly refused: Refusal<QuoteRefusal> }

export type RateLimits = {
  readonly rateMaxAgeSeconds: number
  readonly rateSpreadPercent: number
  /** How many are asked. */
  readonly sources: number
}

/** So many have to say the same, where there are so many: one that is wrong looks like one that is right. */
const QUORUM = 2

/**
 * The median of what fresh sources say, as old as the oldest of them. Nothing is guessed: without enough fresh sources, or
 * with sources that differ too much, there is no rate.
 */
export function combine(
  samples: readonly Sample[],
  now: number,
  { rateMaxAgeSeconds, rateSpreadPercent, sources }: RateLimits,
): RateNow {
  const fresh = samples.filter(({ at, centsPerBtc }) => now - at <= rateMaxAgeSeconds * 1000 && centsPerBtc > 0n)
  const sorted = fresh.toSorted((a, b) => (a.centsPerBtc < b.centsPerBtc ? -1 : 1))
  const [lowest] = sorted
  const highest = sorted.at(-1)
  if (!lowest || !highest)
    return refuse('RATE_STALE', `No source has said within ${rateMaxAgeSeconds} s what a bitcoin costs; try again soon.`)
  if (fresh.length < Math.min(QUORUM, sources))
    return refuse(
      'RATE_STALE',
      `${fresh.length} of ${sources} sources has said within ${rateMaxAgeSeconds} s what a bitcoin costs, and ${QUORUM} are needed; try again soon.`,
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

/** Of an even number the mean of the two in the middle. */
function median(sorted: readonly Sample[]): bigint {
  const upper = sorted[Math.floor(sorted.length / 2)]?.centsPerBtc ?? 0n
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]?.centsPerBtc ?? 0n
  return (lower + upper) / 2n
}
