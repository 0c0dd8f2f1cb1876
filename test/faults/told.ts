import type { Behaviour } from '@penstock/adapters/simnet/nodes.ts'
import type { Event } from '@penstock/runtime/service.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Product } from '../harness/product.ts'
import type { Span } from './awake.ts'
import { type Counts, counted } from './command.ts'
import { heightIn } from './truth.ts'

/**
 * How a node was told to behave. It did what it was told at some moment between the two: the answer may have been lost,
 * and what was told again.
 */
export type Told = {
  readonly alias: string
  readonly how: Behaviour
  readonly askedAt: number
  readonly doneAt: number
  readonly askedHeight: number
  readonly doneHeight: number
}

/** Tells it, and writes down when. @param call how the market is reached */
export async function tell(
  call: (ask: (product: Product) => Promise<void>) => Promise<void>,
  { alias, how }: Pick<Told, 'alias' | 'how'>,
): Promise<Told> {
  const askedAt = Date.now()
  const heights: number[] = []
  await call(async (product) => {
    heights.push(heightIn(product.dataDir))
    await product.operator('POST', '/sim/behave', { alias, how })
    heights.push(heightIn(product.dataDir))
  })
  return { alias, how, askedAt, doneAt: Date.now(), askedHeight: heights[0] ?? 0, doneHeight: heights.at(-1) ?? 0 }
}

/** A seller's program looks twice a second what it is asked for. */
export const LOOKS_WITHIN_MS = 1000

/** How a node behaved for certain at a moment and while its program came to look; undefined where that is not sure. */
function behaviourOf(told: readonly Told[], alias: string, atMs: number): Behaviour | undefined {
  const own = told.filter((one) => one.alias === alias)
  const last = own.findLast(({ doneAt }) => doneAt <= atMs)
  return own.some(({ askedAt, doneAt }) => doneAt > atMs && askedAt < atMs + LOOKS_WITHIN_MS) ? undefined : last?.how
}

/** What an order shows of a seller that behaved so, whatever else strikes meanwhile. */
const SHOWN: Readonly<Record<Behaviour, OrderFact['type']>> = {
  ok: 'OutpointOffered',
  slow: 'AttemptFailed',
  silent: 'AttemptFailed',
  'never-open': 'AttemptFailed',
  'wrong-size': 'OutpointOffered',
  'wrong-peer': 'OutpointOffered',
  vanish: 'OutpointOffered',
}

/** Whether a seller that behaved so since then was asked for a channel, and the order shows it. */
export function isShownSince(events: readonly Event[], how: Behaviour, sinceMs: number): boolean {
  const asked = new Set<string>()
  return events.some(({ category, aggregateId, at, fact }) => {
    if (category !== 'order') return false
    if (fact.type === 'OpeningAsked' && at >= sinceMs) asked.add(aggregateId)
    return fact.type === SHOWN[how] && asked.has(aggregateId)
  })
}

/** Openings that sellers were asked for, by how these behaved just then. */
export function openingsAsked(
  events: readonly Event[],
  told: readonly Told[],
  aliasOf: (pubkey: string) => string | undefined,
): Counts {
  const sellers = new Map<string, string>()
  const asked: string[] = []
  for (const { category, aggregateId, at, fact } of events) {
    if (category !== 'order') continue
    const { type, data } = fact as OrderFact // the category says whose fact it is
    if (type === 'AttemptStarted') sellers.set(`${aggregateId} ${data.attempt}`, data.candidate.sellerPubkey)
    if (type !== 'OpeningAsked') continue
    const alias = aliasOf(sellers.get(`${aggregateId} ${data.attempt}`) ?? '')
    const how = alias === undefined ? undefined : behaviourOf(told, alias, at)
    if (how !== undefined) asked.push(how)
  }
  return counted(asked)
}

/** Blocks in which a node answered nothing. @param untilHeight the last one that counts */
export const silencesOf = (told: readonly Told[], alias: string, untilHeight: number): readonly Span[] => {
  const own = told.filter((one) => one.alias === alias)
  return own.flatMap(({ how, askedHeight }, at) =>
    how === 'silent' ? [{ from: askedHeight, to: own[at + 1]?.doneHeight ?? untilHeight }] : [],
  )
}
