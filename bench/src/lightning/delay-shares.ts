import type { Event } from '@penstock/runtime/service.ts'
import { type ChannelProbe, measureProbingMs } from './channel-probes.ts'

/** Milliseconds from the held payment to the settled payment of a sale, divided by the party for which the sale waited. */
export type DelayShares = {
  readonly seller: number
  readonly chain: number
  readonly market: number
  readonly total: number
  /** Part of `seller`: the seller's and the buyer's nodes announce the channel, or forward our node's probe and its failure. */
  readonly proving: number
  /** `market` plus `proving`. */
  readonly withProof: number
  /** The parts of `market`, in order. */
  readonly asking: number
  readonly answering: number
  readonly settling: number
}

/** Each sale is either in `shares`, or in `missing` as its order id with the names of the missing moments. */
export type MeasuredSales = { readonly shares: readonly DelayShares[]; readonly missing: readonly string[] }

/** Peer proofs that depend on other nodes, as our node reported them. `announcedAt`: ms since 1970, by short channel id. */
export type ExternalProofs = { readonly announcedAt: ReadonlyMap<string, number>; readonly probes: readonly ChannelProbe[] }

const HELD_MOMENT = 'the payment at the node'
const PROVEN_MOMENT = 'the block that proved it'

/**
 * Splits each sale into three shares. The last block is the block that gave the channel its required confirmations.
 * - `asking` (market): from the held payment to the request to the seller.
 * - `answering` (market): from the submitted outpoint to its acceptance.
 * - `settling` (market): from the last block to the settled payment, without `proving`.
 * - `proving` (seller): after the last block, until our node has the announcement, or while a probe is active.
 * - The seller's other time: from the request to the submitted outpoint, and from the acceptance to the seen funding.
 * - The chain's time: from the seen funding to the last block.
 * @param heldAt when the market's node held the payment, by order id; only these orders are measured
 * @param minedAt when each block was mined, by height
 * @param proofs announcements and probes, which depend on other nodes
 */
export function computeShares(
  events: readonly Event[],
  heldAt: ReadonlyMap<string, number>,
  minedAt: ReadonlyMap<number, number>,
  proofs: ExternalProofs,
): MeasuredSales {
  const sales = Map.groupBy(
    events.filter(({ category }) => category === 'order' || category === 'settlement'),
    ({ aggregateId }) => aggregateId,
  )
  const channels = mapChannels(events)
  const measured = [...heldAt].map(([order, held]) => {
    const channel = channels.get(order)
    const moments = mapMoments(sales.get(order) ?? [], held, minedAt)
    return toDelayShares(order, moments, (start, end) => measureExternalProof(proofs, channel, start, end))
  })
  return {
    shares: measured.flatMap((one) => (typeof one === 'string' ? [] : one)),
    missing: measured.flatMap((one) => (typeof one === 'string' ? one : [])),
  }
}

/**
 * Sums the milliseconds between `start` and `end` that other nodes took for the proof. The sum has two parts: the time until the
 * announcement of the channel, and the time of probes after the announcement. An announcement that our node reports only after
 * `end` counts 0 ms, because its arrival time is unknown.
 */
function measureExternalProof({ announcedAt, probes }: ExternalProofs, channel = '', start: number, end: number): number {
  const reportedAt = announcedAt.get(channel) ?? start
  const announced = reportedAt > end ? start : Math.max(start, reportedAt)
  return announced - start + measureProbingMs(probes, channel, announced, end)
}

/** @returns the short channel id by order id */
function mapChannels(events: readonly Event[]): ReadonlyMap<string, string> {
  const confirmed = events.filter(({ category, fact }) => category === 'channel' && fact.type === 'FundingConfirmed')
  return new Map(
    // FundingConfirmed has this shape by its contract.
    confirmed.map(({ aggregateId, fact }) => [aggregateId, (fact.data as { readonly shortChannelId: string }).shortChannelId]),
  )
}

/** Maps each fact type, and the two moments above, to its first time (ms since 1970). */
type Moments = ReadonlyMap<string, number>

function mapMoments(facts: readonly Event[], held: number, minedAt: ReadonlyMap<number, number>): Moments {
  const moments = new Map([[HELD_MOMENT, held]])
  for (const { fact, at } of facts) if (!moments.has(fact.type)) moments.set(fact.type, at)
  const settling = facts.find(({ fact }) => fact.type === 'SettlementStarted')
  return moments.set(PROVEN_MOMENT, (settling && minedAt.get(readProvenHeight(settling))) ?? Number.NaN)
}

const readProvenHeight = ({ fact }: Event): number =>
  (fact.data as { readonly proof: { readonly tipHeight: number } }).proof.tipHeight // SettlementStarted has this shape by its contract

/** @returns the shares, or a sentence if a moment is missing */
function toDelayShares(
  order: string,
  moments: Moments,
  measureProof: (start: number, end: number) => number,
): DelayShares | string {
  const missing: string[] = []
  const at = (moment: string): number => {
    const found = moments.get(moment) ?? Number.NaN
    if (Number.isNaN(found)) missing.push(moment)
    return found
  }
  const [held, openRequested, submitted, accepted] = [
    at(HELD_MOMENT),
    at('ChannelOpenRequested'),
    at('OutpointSubmitted'),
    at('OutpointAccepted'),
  ]
  const [seen, proven, started, settled] = [at('FundingSeen'), at(PROVEN_MOMENT), at('SettlementStarted'), at('HoldSettled')]
  if (missing.length > 0) return `${order}: ${missing.join(', ')}`
  const proving = measureProof(proven, started)
  const [asking, answering, settling] = [openRequested - held, accepted - submitted, settled - proven - proving]
  const seller = submitted - openRequested + (seen - accepted) + proving
  const market = asking + answering + settling
  return {
    seller,
    chain: proven - seen,
    market,
    total: settled - held,
    proving,
    withProof: market + proving,
    asking,
    answering,
    settling,
  }
}
