import { order, type OrderFact } from '@penstock/contracts/order.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { eventOf, metaOf } from '@penstock/runtime/event-codec.ts'

type Position = bigint | 'start'

/** What was carried out, by the ids that answers named: how often for each. */
export type Accepted = Map<string, number>

type Known = {
  readonly agents: readonly string[]
  /** Answers that turn an order down after it was placed (LSPS1's `Client rejected`), which name no id. */
  readonly rejections: number
  /** Answers that turn a seller's invoice down after the order took it down: settlement saw its hash before. */
  readonly refusedInvoices?: number
}

/**
 * Commands that no accepted request explains. Every fact says which command made it, and under which id its cause began (its
 * correlation). A command that somebody asked for leaves facts only where an answer named that id, once for each answer; what
 * the market tells itself has an id that is derived, and belongs to something that was there or was asked for.
 */
export async function unexplained(
  dataDir: string,
  from: Position,
  accepted: Accepted,
  { agents, rejections, refusedInvoices = 0 }: Known,
): Promise<readonly string[]> {
  const [before, facts] = await factsAround(dataDir, from)
  const unnamed = facts.filter(({ correlation }) => !agents.includes(correlation) && !accepted.has(correlation))
  const rejected = unnamed.filter(({ type }) => type === 'BuyerRejected').map(({ correlation }) => correlation)
  const told = new Set([...agents, ...rejected.slice(0, rejections)])
  const judged = facts.filter(({ correlation }) => !told.has(correlation))
  const known = new Set([...before, ...judged.filter(isAsked)].map(({ correlation }) => correlation))
  const foreign = judged.filter((fact) => !isAsked(fact) && !known.has(fact.correlation))
  const asked = Map.groupBy(
    judged.filter((fact) => isAsked(fact) && !(fact.seller !== undefined && agents.includes(fact.seller))),
    ({ correlation }) => correlation,
  )
  const refused = new Set(judged.filter(({ type }) => type === 'PayoutInvoiceRefused').map(({ correlation }) => correlation))
  const untold = [...asked].flatMap(([id, made]) => {
    const count = new Set(made.map(({ command }) => command)).size
    const said = accepted.get(id) ?? 0
    const types = [...new Set(made.map(({ type }) => type))]
    return count > said ? [{ id, count, said, types }] : []
  })
  const turnedDown = untold.filter(
    ({ id, count, said, types }) => count === said + 1 && types.includes('PayoutInvoiceOffered') && refused.has(id),
  )
  const explained = new Set(turnedDown.slice(0, refusedInvoices))
  return [
    ...foreign.map(({ stream, type, correlation }) => `${type} on ${stream}, caused by ${correlation}`),
    ...untold
      .filter((one) => !explained.has(one))
      .map(({ id, count, said, types }) => `${id}: ${count} commands left facts (${types.join(', ')}), ${said} were accepted`),
  ]
}

/** Ids of asked commands are made from time and chance, those of all others from what they follow. */
const isAsked = ({ command }: Noted): boolean => command[14] !== '5'
type Noted = {
  readonly stream: string
  readonly type: string
  readonly correlation: string
  readonly command: string
  /** Whose word it is, where sellers say such a thing about their orders. */
  readonly seller: string | undefined
}

/** Those up to a position, and those after it. */
async function factsAround(dataDir: string, from: Position): Promise<readonly [Noted[], Noted[]]> {
  const found: readonly [Noted[], Noted[]] = [[], []]
  const sellerOf = openSellers()
  for await (const event of eventsAfter(dataDir, 'start')) {
    const { correlation, command } = metaOf(event)
    const isAfter = from === 'start' || event.position > from
    found[isAfter ? 1 : 0].push({ stream: event.stream, type: event.type, correlation, command, seller: sellerOf(event) })
  }
  return found
}

/**
 * Who sells which order, learned from its facts in their order. The agents go on working whatever is tried, so that what
 * they say about their own orders was asked for by no shot; what anybody else says was.
 * @returns the seller whose attempt such a fact is about
 */
function openSellers(): (event: StoredEvent) => string | undefined {
  const sellers = new Map<string, string>()
  return (event) => {
    if (categoryOf(event.stream) !== 'order') return undefined
    const { type, data } = eventOf(order, event).fact as OrderFact // its category
    switch (type) {
      case 'OrderPlaced':
      case 'AttemptStarted':
        sellers.set(`${event.stream}/${type === 'OrderPlaced' ? 1 : data.attempt}`, data.candidate.sellerPubkey)
        return undefined
      case 'SellerAccepted':
        return sellers.get(`${event.stream}/1`)
      case 'PayoutInvoiceOffered':
      case 'OutpointOffered':
        return sellers.get(`${event.stream}/${data.attempt}`)
      default:
        return undefined
    }
  }
}

/** The log's end as it is now. */
export async function endOf(dataDir: string): Promise<{ readonly position: Position; readonly count: number }> {
  let position: Position = 'start'
  let count = 0
  for await (const event of eventsAfter(dataDir, 'start')) {
    position = event.position
    count += 1
  }
  return { position, count }
}

const PAGE = 1000

async function* eventsAfter(dataDir: string, from: Position): AsyncGenerator<StoredEvent> {
  const store = openStored(dataDir)
  try {
    let after = from
    for (;;) {
      const page = await store.readAll(after, PAGE)
      yield* page
      const last = page.at(-1)
      if (!last) return
      after = last.position
    }
  } finally {
    await store.close()
  }
}
