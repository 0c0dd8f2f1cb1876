import { InvalidArgumentError } from 'commander'
import { SELLER_BEHAVIOUR_OPTIONS, ORDER_KINDS, parseMix, type SellerBehaviourOption, type Mix } from './orders/mix.ts'
import type { WorkloadSettings } from './orders/arrival-schedule.ts'

/** The settings of a run, from the command line. */
export type LoadSettings = WorkloadSettings & {
  /** The largest number of orders in flight. An order that is due while the number is reached is shed. */
  readonly maxInFlight: number
  /** The longest wait for unfinished orders after the last order started, and then for the sellers' payouts. */
  readonly drainMs: number
  /** The timeout of each request, and separately of its wait for a connection. */
  readonly timeoutMs: number
  readonly pollMs: number
  /** Nodes that receive the channels. If empty, the buyers of the simulated network receive them. */
  readonly to: readonly string[]
  readonly sellers: Mix<SellerBehaviourOption> | null
  readonly allowErrors: number
  /** Whether the run passes although paid orders are unfinished at the drain limit. */
  readonly allowUnfinished: boolean
  /** Whether the run passes although due orders or polls were shed or held back, and are missing from the latencies. */
  readonly allowShed: boolean
}

export const ARRIVAL_PATTERNS = ['constant', 'poisson'] as const

const createArgumentError = (sentence: string): InvalidArgumentError => new InvalidArgumentError(sentence)

export const MAX_RATE = 1000

/** @throws InvalidArgumentError */
export function parseRate(text: string): number {
  const perSecond = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(perSecond >= 0.001 && perSecond <= MAX_RATE))
    throw createArgumentError(`It must be a number of orders per second, from 0.001 to ${MAX_RATE}.`)
  return perSecond
}

/** @throws InvalidArgumentError */
export const createCountParser =
  (unit: string, min: number, max: number) =>
  (text: string): number => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= min && number <= max))
      throw createArgumentError(`It must be a whole number of ${unit}, from ${min} to ${max}.`)
    return number
  }

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const DAY_MS = 24 * 3_600_000

/** @throws InvalidArgumentError */
export function parseTimeSpan(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? []
  const ms = Number(number) * (UNIT_MS[unit] ?? Number.NaN)
  if (!(ms >= 1 && ms <= DAY_MS)) throw createArgumentError('It must be a time with its unit: 500ms, 30s, 5m or 2h, up to a day.')
  return ms
}

/** @throws InvalidArgumentError */
export const parseOrderMix = (text: string) => parseMixOption(text, ORDER_KINDS)
/** @throws InvalidArgumentError */
export const parseSellerMix = (text: string) => parseMixOption(text, SELLER_BEHAVIOUR_OPTIONS)

function parseMixOption<Word extends string>(text: string, names: readonly Word[]): Mix<Word> {
  try {
    return parseMix(text, names)
  } catch (error) {
    if (error instanceof RangeError) throw createArgumentError(error.message)
    throw error
  }
}

/** @throws InvalidArgumentError */
export function parseNodeUri(text: string, previousUris: readonly string[] = []): readonly string[] {
  if (!/^0[23][0-9a-f]{64}@.+:\d{1,5}$/i.test(text)) throw createArgumentError('It must be a node, as <pubkey>@<host>:<port>.')
  return [...previousUris, text]
}
