import { orderContract, type OrderFact } from '@penstock/contracts/order.ts'
import { priceContract, type PriceFact } from '@penstock/contracts/quote.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { readEvent, readMeta } from '@penstock/runtime/commands/event-codec.ts'
import { createFactAttribution } from './attribution.ts'

export type LogPosition = bigint | 'start'

/** By id: the number of results of carried-out requests that contain the id. */
export type AcceptedCounts = Map<string, number>

type Explanations = {
  readonly agentPubkeys: readonly string[]
  /** Number of answers that refused an order after it was placed (LSPS1's `Client rejected`). They contain no id. */
  readonly rejections: number
  /** Number of payout invoices that the order recorded and settlement then refused, because it already knows the hash. */
  readonly refusedInvoices?: number
}

/**
 * Finds commands that no accepted request explains. Every fact contains its command's id and a correlation: the id of the
 * original cause. Each accepted result with a correlation explains one requested command of this correlation. The market's own
 * commands have derived ids. Their correlation must be known from earlier facts or from requested commands.
 */
export async function findUnexplainedFacts(
  dataDir: string,
  from: LogPosition,
  accepted: AcceptedCounts,
  { agentPubkeys, rejections, refusedInvoices = 0 }: Explanations,
): Promise<readonly string[]> {
  const [previous, facts] = await readFactsAround(dataDir, from)
  const unaccepted = facts.filter(({ correlation }) => !agentPubkeys.includes(correlation) && !accepted.has(correlation))
  const rejectedCorrelations = unaccepted.filter(({ type }) => type === 'BuyerRejected').map(({ correlation }) => correlation)
  const explainedRejections = new Set(rejectedCorrelations.slice(0, rejections))
  const isHeartbeat = ({ type, correlation }: FactRecord) => agentPubkeys.includes(correlation) && HEARTBEATS.has(type)
  const relevant = facts.filter((fact) => !fact.isRefreshed && !isHeartbeat(fact) && !explainedRejections.has(fact.correlation))
  const knownCorrelations = new Set([...previous, ...relevant.filter(isRequested)].map(({ correlation }) => correlation))
  const foreign = relevant.filter((fact) => !isRequested(fact) && !knownCorrelations.has(fact.correlation))
  const requested = Map.groupBy(
    relevant.filter((fact) => isRequested(fact) && !(fact.seller !== undefined && agentPubkeys.includes(fact.seller))),
    ({ correlation }) => correlation,
  )
  const refusedCorrelations = new Set(
    relevant.filter(({ type }) => type.startsWith('PayoutInvoiceRefused')).map(({ correlation }) => correlation),
  )
  const unexplainedCommands = [...requested].flatMap(([id, records]) => {
    const count = new Set(records.map(({ command }) => command)).size
    const acceptedCount = accepted.get(id) ?? 0
    const types = [...new Set(records.map(({ type }) => type))]
    return count > acceptedCount ? [{ id, count, said: acceptedCount, types }] : []
  })
  const refusedOnly = unexplainedCommands.filter(
    ({ id, count, said: acceptedCount, types }) =>
      count === acceptedCount + 1 &&
      types.some((type) => type.startsWith('PayoutInvoiceSubmitted')) &&
      refusedCorrelations.has(id),
  )
  const explained = new Set(refusedOnly.slice(0, refusedInvoices))
  return [
    ...foreign.map(({ stream, type, correlation }) => `${type} on ${stream}, caused by ${correlation}`),
    ...unexplainedCommands
      .filter((command) => !explained.has(command))
      .map(
        ({ id, count, said: acceptedCount, types }) =>
          `${id}: ${count} commands left facts (${types.join(', ')}), ${acceptedCount} were accepted`,
      ),
  ]
}

/** Types of facts that an agent's reports about itself cause, or the absence of these reports. */
const HEARTBEATS = new Set(['SellerAppeared', 'FundsAttested', 'SellerFellSilent'])

/** Requested commands have random ids with a timestamp (UUID v7). The market's own commands have derived ids (UUID v5). */
const isRequested = ({ command }: FactRecord): boolean => command[14] !== '5'
type FactRecord = {
  readonly stream: string
  readonly type: string
  readonly correlation: string
  readonly command: string
  /** The node key of the seller whose agent must have caused the fact, if the fact proves this. */
  readonly seller: string | undefined
  /** True if the fact sets the same price again, or a price at another exchange rate. The market does both without a request. */
  readonly isRefreshed: boolean
}

/** Reads the facts up to a position, and the facts after it. */
async function readFactsAround(dataDir: string, from: LogPosition): Promise<readonly [FactRecord[], FactRecord[]]> {
  const records: readonly [FactRecord[], FactRecord[]] = [[], []]
  const attribute = createFactAttribution()
  const isRefreshed = createRefreshDetector()
  for await (const event of readEventsAfter(dataDir, 'start')) {
    const { correlation, command } = readMeta(event)
    const isAfter = from === 'start' || event.position > from
    const isOfOrder = categoryOf(event.stream) === orderContract.category
    const seller = isOfOrder ? attribute({ orderId: aggregateIdOf(event.stream), fact: readOrderFact(event) }) : undefined
    const { stream, type } = event
    records[isAfter ? 1 : 0].push({ stream, type, correlation, command, seller, isRefreshed: isRefreshed(event) })
  }
  return records
}

/** Detects prices that were set without any request: the price stayed the same, or the rate changed. */
function createRefreshDetector(): (event: StoredEvent) => boolean {
  let last = { satsPerUsd: '', centsPerBtc: '' }
  return (event) => {
    if (categoryOf(event.stream) !== priceContract.category) return false
    const { type, data } = readEvent(priceContract, event).fact as PriceFact // by its category
    if (type !== 'PriceSet') return false
    const [previous, current] = [last, { satsPerUsd: data.satsPerUsd, centsPerBtc: data.rate.centsPerBtc }]
    last = current
    return (
      previous.satsPerUsd === current.satsPerUsd || (previous.centsPerBtc !== '' && previous.centsPerBtc !== current.centsPerBtc)
    )
  }
}

const readOrderFact = (event: StoredEvent): OrderFact => readEvent(orderContract, event).fact as OrderFact // by its category

/** Reads the current end of the log. */
export async function readLogEnd(dataDir: string): Promise<{ readonly position: LogPosition; readonly count: number }> {
  let position: LogPosition = 'start'
  let count = 0
  for await (const event of readEventsAfter(dataDir, 'start')) {
    position = event.position
    count += 1
  }
  return { position, count }
}

const PAGE_SIZE = 1000

async function* readEventsAfter(dataDir: string, from: LogPosition): AsyncGenerator<StoredEvent> {
  const store = openLocalStore(dataDir)
  try {
    let after = from
    for (;;) {
      const page = await store.readAll(after, PAGE_SIZE)
      yield* page
      const last = page.at(-1)
      if (!last) return
      after = last.position
    }
  } finally {
    await store.close()
  }
}
