import { InvalidArgumentError } from 'commander'
import { BEHAVIOURS, KINDS, readShares, type Behaviour, type Shares } from './shares.ts'
import type { Pace } from './schedule.ts'

/** All that a run is told. */
export type Settings = Pace & {
  /** Orders that may be under way at once; those that are due beyond it are shed. */
  readonly maxInFlight: number
  /** How long the run waits for its orders after the last one began, and then for the sellers' payouts. */
  readonly drainMs: number
  /** For each request, and before it for a connection to send it by. */
  readonly timeoutMs: number
  readonly pollMs: number
  /** Nodes that are to receive the channels; none: the buyers of the simulated network. */
  readonly to: readonly string[]
  readonly sellers: Shares<Behaviour> | null
  readonly allowErrors: number
  /** Paid orders that are under way at the drain limit do not make it fail. */
  readonly allowUnfinished: boolean
  /** Orders and beats that were due and are not in the latencies, since they were shed or held back, do not make it fail. */
  readonly allowShed: boolean
}

export const ARRIVALS = ['constant', 'poisson'] as const

const invalid = (sentence: string): InvalidArgumentError => new InvalidArgumentError(sentence)

/** @throws InvalidArgumentError */
export function rate(text: string): number {
  const perSecond = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(perSecond >= 0.001 && perSecond <= 1000)) throw invalid('It is a number of orders per second, from 0.001 to 1000.')
  return perSecond
}

/** @throws InvalidArgumentError */
export const count =
  (what: string, least: number, most: number) =>
  (text: string): number => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= least && number <= most)) throw invalid(`It is a whole number of ${what}, from ${least} to ${most}.`)
    return number
  }

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const DAY_MS = 24 * 3_600_000

/** @throws InvalidArgumentError */
export function span(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  const ms = Number(number) * (UNIT_MS[unit] ?? Number.NaN)
  if (!(ms >= 1 && ms <= DAY_MS)) throw invalid('It is a time with its unit, as 500ms, 30s, 5m or 2h, up to a day.')
  return ms
}

/** @throws InvalidArgumentError */
export const mix = (text: string) => shares(text, KINDS)
/** @throws InvalidArgumentError */
export const sellers = (text: string) => shares(text, BEHAVIOURS)

function shares<Word extends string>(text: string, words: readonly Word[]): Shares<Word> {
  try {
    return readShares(text, words)
  } catch (error) {
    if (error instanceof RangeError) throw invalid(error.message)
    throw error
  }
}

/** @throws InvalidArgumentError */
export function nodeUri(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^0[23][0-9a-f]{64}@.+:\d{1,5}$/i.test(text)) throw invalid('It is a node, as <pubkey>@<host>:<port>.')
  return [...before, text]
}
