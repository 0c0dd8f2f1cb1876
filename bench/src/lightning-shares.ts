import type { Event } from '@penstock/runtime/service.ts'

/** Milliseconds of a sale from the held payment to the settled one, by whoever the others waited for. */
export type Shares = {
  readonly seller: number
  readonly chain: number
  readonly us: number
  readonly whole: number
  /** Ours, one after the other. */
  readonly asking: number
  readonly answering: number
  readonly settling: number
}

/** Every sale is in one of the two. */
export type Measured = { readonly shares: readonly Shares[]; readonly missing: readonly string[] }

const HELD = 'the payment at the node'
const PROVEN = 'the block that proved it'

/**
 * Ours: from the payment to the moment when the seller is asked, from the outpoint that it offers to the answer that it may
 * publish, and from the block that made the channel provable to the settled payment. The seller's: until it offers an
 * outpoint, and until its funding is seen. The chain's: from there to that block.
 * @param heldAt when the market's node had the payment, by the order: the sales that are measured
 * @param minedAt when each block was made, by its height
 */
export function sharesOf(
  events: readonly Event[],
  heldAt: ReadonlyMap<string, number>,
  minedAt: ReadonlyMap<number, number>,
): Measured {
  const sales = Map.groupBy(
    events.filter(({ category }) => category === 'order' || category === 'settlement'),
    ({ aggregateId }) => aggregateId,
  )
  const measured = [...heldAt].map(([order, held]) => shares(order, momentsOf(sales.get(order) ?? [], held, minedAt)))
  return {
    shares: measured.flatMap((one) => (typeof one === 'string' ? [] : one)),
    missing: measured.flatMap((one) => (typeof one === 'string' ? one : [])),
  }
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
function shares(order: string, moments: Moments): Shares | string {
  const missing: string[] = []
  const at = (moment: string): number => {
    const found = moments.get(moment) ?? Number.NaN
    if (Number.isNaN(found)) missing.push(moment)
    return found
  }
  const [held, asked, offered, named] = [at(HELD), at('OpeningAsked'), at('OutpointOffered'), at('OutpointNamed')]
  const [seen, proven, settled] = [at('FundingSeen'), at(PROVEN), at('HoldSettled')]
  if (missing.length > 0) return `${order}: ${missing.join(', ')}`
  const [asking, answering, settling] = [asked - held, named - offered, settled - proven]
  const seller = offered - asked + (seen - named)
  return { seller, chain: proven - seen, us: asking + answering + settling, whole: settled - held, asking, answering, settling }
}
