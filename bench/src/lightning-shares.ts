import type { Event } from '@penstock/runtime/service.ts'
import { type Probe, probedWithin } from './lightning-probes.ts'

/** Milliseconds of a sale from the held payment to the settled one, by whoever the others waited for. */
export type Shares = {
  readonly seller: number
  readonly chain: number
  readonly us: number
  readonly whole: number
  /** The seller's: its node and the buyer's announce the channel, or pass our probe on and back. */
  readonly proving: number
  /** Ours and that. */
  readonly withProof: number
  /** Ours, one after the other. */
  readonly asking: number
  readonly answering: number
  readonly settling: number
}

/** Every sale is in one of the two. */
export type Measured = { readonly shares: readonly Shares[]; readonly missing: readonly string[] }

/** What proves a channel and has to come from others: our node's own word on each, by where the channel stands in the chain. */
export type Proofs = { readonly announcedAt: ReadonlyMap<string, number>; readonly probes: readonly Probe[] }

const HELD = 'the payment at the node'
const PROVEN = 'the block that proved it'

/**
 * Ours: from the payment to the moment when the seller is asked, from the outpoint that it offers to the answer that it may
 * publish, and from the block that made the channel deep enough to the settled payment, less the time until our node was told
 * of it by those that it connects, or while our probe was on its way through it. The seller's: that, until it offers an
 * outpoint, and until its funding is seen. The chain's: from there to that block.
 * @param heldAt when the market's node had the payment, by the order: the sales that are measured
 * @param minedAt when each block was made, by its height
 * @param proofs what came from others
 */
export function sharesOf(
  events: readonly Event[],
  heldAt: ReadonlyMap<string, number>,
  minedAt: ReadonlyMap<number, number>,
  proofs: Proofs,
): Measured {
  const sales = Map.groupBy(
    events.filter(({ category }) => category === 'order' || category === 'settlement'),
    ({ aggregateId }) => aggregateId,
  )
  const channels = channelsOf(events)
  const measured = [...heldAt].map(([order, held]) => {
    const channel = channels.get(order)
    const moments = momentsOf(sales.get(order) ?? [], held, minedAt)
    return shares(order, moments, (start, end) => provenByOthers(proofs, channel, start, end))
  })
  return {
    shares: measured.flatMap((one) => (typeof one === 'string' ? [] : one)),
    missing: measured.flatMap((one) => (typeof one === 'string' ? one : [])),
  }
}

/**
 * The time within these moments that others took: until the announcement, and for probes after it. One that our node told of
 * only later leaves open when it had it, and counts for nothing.
 */
function provenByOthers({ announcedAt, probes }: Proofs, channel = '', start: number, end: number): number {
  const told = announcedAt.get(channel) ?? start
  const announced = told > end ? start : Math.max(start, told)
  return announced - start + probedWithin(probes, channel, announced, end)
}

/** By the order, where its channel stands in the chain. */
function channelsOf(events: readonly Event[]): ReadonlyMap<string, string> {
  const confirmed = events.filter(({ category, fact }) => category === 'channel' && fact.type === 'FundingConfirmed')
  return new Map(
    // Of FundingConfirmed, by its contract.
    confirmed.map(({ aggregateId, fact }) => [aggregateId, (fact.data as { readonly shortChannelId: string }).shortChannelId]),
  )
}

/** The first time of each. */
type Moments = ReadonlyMap<string, number>

function momentsOf(facts: readonly Event[], held: number, minedAt: ReadonlyMap<number, number>): Moments {
  const moments = new Map([[HELD, held]])
  for (const { fact, at } of facts) if (!moments.has(fact.type)) moments.set(fact.type, at)
  const settling = facts.find(({ fact }) => fact.type === 'SettleRequested')
  return moments.set(PROVEN, (settling && minedAt.get(provenHeight(settling))) ?? Number.NaN)
}

const provenHeight = ({ fact }: Event): number =>
  (fact.data as { readonly proof: { readonly tipHeight: number } }).proof.tipHeight // of SettleRequested, by its contract

/** @returns a sentence where a moment is missing */
function shares(order: string, moments: Moments, byOthers: (start: number, end: number) => number): Shares | string {
  const missing: string[] = []
  const at = (moment: string): number => {
    const found = moments.get(moment) ?? Number.NaN
    if (Number.isNaN(found)) missing.push(moment)
    return found
  }
  const [held, asked, offered, named] = [at(HELD), at('OpeningAsked'), at('OutpointOffered'), at('OutpointNamed')]
  const [seen, proven, requested, settled] = [at('FundingSeen'), at(PROVEN), at('SettleRequested'), at('HoldSettled')]
  if (missing.length > 0) return `${order}: ${missing.join(', ')}`
  const proving = byOthers(proven, requested)
  const [asking, answering, settling] = [asked - held, named - offered, settled - proven - proving]
  const seller = offered - asked + (seen - named) + proving
  const us = asking + answering + settling
  return {
    seller,
    chain: proven - seen,
    us,
    whole: settled - held,
    proving,
    withProof: us + proving,
    asking,
    answering,
    settling,
  }
}
