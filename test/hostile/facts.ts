import { order, type OrderFact } from '@penstock/contracts/order.ts'
import { price, type PriceFact } from '@penstock/contracts/quote.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { aggregateIdOf, categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { eventOf, metaOf } from '@penstock/runtime/event-codec.ts'
import { openSpeakers } from './agents.ts'

export type Position = bigint | 'start'

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
  const told = new Set(rejected.slice(0, rejections))
  const isHeartbeat = ({ type, correlation }: Noted) => agents.includes(correlation) && HEARTBEATS.has(type)
  const judged = facts.filter((fact) => !fact.isRefreshed && !isHeartbeat(fact) && !told.has(fact.correlation))
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

/** Facts of a seller whose agent says how it is, or says nothing. */
const HEARTBEATS = new Set(['SellerAppeared', 'FundsAttested', 'SellerFellSilent'])

/** Ids of asked commands are made from time and chance, those of all others from what they follow. */
const isAsked = ({ command }: Noted): boolean => command[14] !== '5'
type Noted = {
  readonly stream: string
  readonly type: string
  readonly correlation: string
  readonly command: string
  /** Whose word it is beyond doubt, where sellers say such a thing about their orders. */
  readonly seller: string | undefined
  /** The day's price, as it was or at another rate: it is set anew from time to time. */
  readonly isRefreshed: boolean
}

/** Those up to a position, and those after it. */
async function factsAround(dataDir: string, from: Position): Promise<readonly [Noted[], Noted[]]> {
  const found: readonly [Noted[], Noted[]] = [[], []]
  const speakerOf = openSpeakers()
  const isRefreshed = openPrices()
  for await (const event of eventsAfter(dataDir, 'start')) {
    const { correlation, command } = metaOf(event)
    const isAfter = from === 'start' || event.position > from
    const isOfOrder = categoryOf(event.stream) === order.category
    const seller = isOfOrder ? speakerOf({ orderId: aggregateIdOf(event.stream), fact: orderFactOf(event) }) : undefined
    const { stream, type } = event
    found[isAfter ? 1 : 0].push({ stream, type, correlation, command, seller, isRefreshed: isRefreshed(event) })
  }
  return found
}

/** What a dollar buys changes with the rate, and else only with what somebody did. */
function openPrices(): (event: StoredEvent) => boolean {
  let last = { satsPerUsd: '', centsPerBtc: '' }
  return (event) => {
    if (categoryOf(event.stream) !== price.category) return false
    const { type, data } = eventOf(price, event).fact as PriceFact // its category
    if (type !== 'PriceSet') return false
    const [before, now] = [last, { satsPerUsd: data.satsPerUsd, centsPerBtc: data.rate.centsPerBtc }]
    last = now
    return before.satsPerUsd === now.satsPerUsd || (before.centsPerBtc !== '' && before.centsPerBtc !== now.centsPerBtc)
  }
}

const orderFactOf = (event: StoredEvent): OrderFact => eventOf(order, event).fact as OrderFact // its category

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
