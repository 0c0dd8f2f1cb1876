import { Failure } from '../../failure.ts'
import type { LoadSettings } from '../settings.ts'

/** The options that change what a curve measures, each with the reason against it. */
const REFUSED_OPTIONS: Readonly<Record<string, string>> = {
  orders: '--orders does not go with --curve: --rate and --duration give the number of orders of each load.',
  maxInFlight: '--max-in-flight does not go with --curve: orders that wait for earlier orders show no overload.',
  sellers: '--sellers does not go with --curve: a paid order that a seller fails is not lost by a slow market.',
  to: '--to does not go with --curve: nobody pays for these nodes, and the curve counts paid orders.',
  private: '--private does not go with --curve: proofs of private channels wait for each other, at any load.',
}

const DEFAULT_DURATION_MS = 30_000
/** So many orders never are in flight, so none is shed. */
const NO_LIMIT = 1_000_000

/**
 * The settings of all loads of a curve. The rate is that of the first load.
 * @param isGiven whether the command line has the option
 * @throws Failure for an option that does not go with a curve
 */
export function toCurveSettings(settings: LoadSettings, isGiven: (option: string) => boolean): LoadSettings {
  const refused = Object.entries(REFUSED_OPTIONS).flatMap(([option, sentence]) => (isGiven(option) ? [sentence] : []))
  if (refused.length > 0) throw new Failure(refused.join('\n'))
  const mix = isGiven('mix') ? settings.mix : [{ word: 'buy' as const, percent: 100 }]
  if (!mix.some(({ word }) => word === 'buy'))
    throw new Failure('--mix needs a share of buy with --curve: the curve shows the time to the invoice of buy.')
  return { ...settings, mix, maxInFlight: NO_LIMIT, durationMs: isGiven('duration') ? settings.durationMs : DEFAULT_DURATION_MS }
}

/** The settings of one load. */
export const atRate = (settings: LoadSettings, ratePerSecond: number): LoadSettings => ({
  ...settings,
  ratePerSecond,
  orders: Math.ceil((ratePerSecond * settings.durationMs) / 1000),
})
