import { openStored } from '@penstock/platforms/stored.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { metaOf } from '@penstock/runtime/event-codec.ts'

type Position = bigint | 'start'

/** What was carried out, by the ids that answers named: how often for each. */
export type Accepted = Map<string, number>

type Known = {
  readonly agents: readonly string[]
  /** Answers that turn an order down after it was placed (LSPS1's `Client rejected`), which name no id. */
  readonly rejections: number
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
  { agents, rejections }: Known,
): Promise<readonly string[]> {
  const [before, facts] = await factsAround(dataDir, from)
  const unnamed = facts.filter(({ correlation }) => !agents.includes(correlation) && !accepted.has(correlation))
  const rejected = unnamed.filter(({ type }) => type === 'BuyerRejected').map(({ correlation }) => correlation)
  const told = new Set([...agents, ...rejected.slice(0, rejections)])
  const judged = facts.filter(({ correlation }) => !told.has(correlation))
  const known = new Set([...before, ...judged.filter(isAsked)].map(({ correlation }) => correlation))
  const foreign = judged.filter((fact) => !isAsked(fact) && !known.has(fact.correlation))
  const asked = Map.groupBy(
    judged.filter((fact) => isAsked(fact) && !BY_OTHERS.has(fact.type)),
    ({ correlation }) => correlation,
  )
  return [
    ...foreign.map(({ stream, type, correlation }) => `${type} on ${stream}, caused by ${correlation}`),
    ...[...asked].flatMap(([id, made]) => {
      const count = new Set(made.map(({ command }) => command)).size
      const said = accepted.get(id) ?? 0
      const types = [...new Set(made.map(({ type }) => type))].join(', ')
      return count > said ? [`${id}: ${count} commands left facts (${types}), ${said} were accepted`] : []
    }),
  ]
}

/** Ids of asked commands are made from time and chance, those of all others from what they follow. */
const isAsked = ({ command }: Noted): boolean => command[14] !== '5'
/** What the agents, who go on working meanwhile, say about orders. */
const BY_OTHERS: ReadonlySet<string> = new Set([
  'SellerAccepted',
  'PayoutInvoiceOffered',
  'OutpointOffered',
  'AttestationOffered',
])

type Noted = {
  readonly stream: string
  readonly type: string
  readonly correlation: string
  readonly command: string
}

/** Those up to a position, and those after it. */
async function factsAround(dataDir: string, from: Position): Promise<readonly [Noted[], Noted[]]> {
  const found: readonly [Noted[], Noted[]] = [[], []]
  for await (const event of eventsAfter(dataDir, 'start')) {
    const { correlation, command } = metaOf(event)
    const isAfter = from === 'start' || event.position > from
    found[isAfter ? 1 : 0].push({ stream: event.stream, type: event.type, correlation, command })
  }
  return found
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
