import type { StepLatency } from '../measurements/latency-meter.ts'
import type { RunEnd } from '../orders/generator.ts'
import { listFailures } from '../report/outcome-format.ts'
import type { LoadOutcome } from '../run-load.ts'

/** One load of a curve: an open loop at a fixed rate. */
export type CurveLoad = {
  /** Orders that were due per second, on average. */
  readonly perSecond: number
  readonly due: number
  readonly refused: number
  readonly sold: number
  /**
   * Sold channels per second: the sold share of the due orders, times their rate. The time from the first to the last random
   * arrival varies more. With it, a short load would sell more per second than was asked for.
   */
  readonly goodput: number
  /** Paid orders that ended without a channel. All sellers are good, so the market lost them. */
  readonly lost: number
  /** The time to the invoice of `buy`, from the moment at which the order was due. Refused orders have none. */
  readonly buyP50Ms: number | null
  readonly buyP99Ms: number | null
  readonly endedBy: RunEnd
  /** The reasons for which the load fails, one sentence per reason. */
  readonly failures: readonly string[]
}

type LoadFigures = Pick<LoadOutcome, 'settings' | 'counts' | 'buyerResults' | 'latencies' | 'endedBy' | 'checks' | 'errors'>

export function toCurveLoad(outcome: LoadFigures): CurveLoad {
  const { arrived } = outcome.counts
  const { sold } = outcome.buyerResults
  const buy: Pick<StepLatency, 'p50Ms' | 'p99Ms'> | undefined = outcome.latencies.find(({ step }) => step === 'invoice (buy)')
  return {
    perSecond: outcome.settings.ratePerSecond,
    due: arrived,
    refused: outcome.counts.refused,
    sold,
    goodput: arrived > 0 ? (outcome.settings.ratePerSecond * sold) / arrived : 0,
    lost: outcome.buyerResults.paidUnserved,
    buyP50Ms: buy?.p50Ms ?? null,
    buyP99Ms: buy?.p99Ms ?? null,
    endedBy: outcome.endedBy,
    failures: listFailures(outcome),
  }
}
