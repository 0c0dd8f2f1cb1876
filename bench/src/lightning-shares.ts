import type { Event } from '@penstock/runtime/service.ts'

/** Milliseconds of a sale from the held payment to the settled one, by whoever the others waited for. */
export type Shares = { readonly seller: number; readonly chain: number; readonly us: number; readonly whole: number }

/** The first time of each fact of a sale. */
type Moments = ReadonlyMap<string, number>

/**
 * Ours: from the payment to the moment when the seller is asked, from the outpoint that it offers to the answer that it may
 * publish, and from the block that made the channel provable to the settled payment. The seller's: until it offers an
 * outpoint, and until its funding is seen. The chain's: from there to that block.
 * @param minedAt when each block was made, by its height
 */
export function sharesOf(events: readonly Event[], minedAt: ReadonlyMap<number, number>): readonly Shares[] {
  const sales = Map.groupBy(
    events.filter(({ category }) => category === 'order' || category === 'settlement'),
    ({ aggregateId }) => aggregateId,
  )
  return [...sales.values()].flatMap((facts) => {
    const settling = facts.find(({ fact }) => fact.type === 'SettleRequested')
    const provenAt = settling && minedAt.get(provenHeight(settling))
    return provenAt === undefined ? [] : shares(momentsOf(facts), provenAt)
  })
}

function momentsOf(facts: readonly Event[]): Moments {
  const moments = new Map<string, number>()
  for (const { fact, at } of facts) if (!moments.has(fact.type)) moments.set(fact.type, at)
  return moments
}

const provenHeight = ({ fact }: Event): number =>
  (fact.data as { readonly proof: { readonly tipHeight: number } }).proof.tipHeight // of SettleRequested, by its contract

function shares(moments: Moments, provenAt: number): readonly Shares[] {
  const at = (type: string): number => moments.get(type) ?? Number.NaN
  const [held, asked, offered, named, seen, settled] = [
    'HoldHeld',
    'OpeningAsked',
    'OutpointOffered',
    'OutpointNamed',
    'FundingSeen',
    'HoldSettled',
  ].map(at) as [number, number, number, number, number, number] // as many as types
  const us = asked - held + (named - offered) + (settled - provenAt)
  const seller = offered - asked + (seen - named)
  const all = { seller, chain: provenAt - seen, us, whole: settled - held }
  return Object.values(all).some(Number.isNaN) ? [] : [all]
}
