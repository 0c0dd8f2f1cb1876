import { openStored } from '@penstock/platforms/stored.ts'
import { aggregateIdOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { metaOf } from '@penstock/runtime/event-codec.ts'

type Position = bigint | 'start'

/** What was carried out, by the ids that answers named: how often for each. */
export type Accepted = Map<string, number>

type Known = {
  readonly agents: readonly string[]
  readonly accounts: readonly string[]
  /** Answers that turn an order down after it was placed (LSPS1's `Client rejected`), which name no id. */
  readonly rejections: number
}

/**
 * Facts that no accepted request explains. Every fact says under which id its cause began (its correlation): an answer must
 * have named it. In the caller's own account each answer explains one command, so that a refused one leaves no trace.
 */
export async function unexplained(
  dataDir: string,
  from: Position,
  accepted: Accepted,
  { agents, accounts, rejections }: Known,
): Promise<readonly string[]> {
  const facts = await factsAfter(dataDir, from)
  const isOurs = (id: string): boolean => !agents.includes(id)
  const unnamed = facts.filter(({ correlation }) => isOurs(correlation) && !accepted.has(correlation))
  const rejected = unnamed.filter(({ type }) => type === 'BuyerRejected').map(({ correlation }) => correlation)
  const told = new Set(rejected.slice(0, rejections))
  const foreign = unnamed.filter(({ correlation }) => !told.has(correlation))
  const commands = accounts.map((id) => {
    const count = new Set(facts.filter((fact) => fact.correlation === id && fact.id === id).map(({ command }) => command)).size
    return { id, count, said: accepted.get(id) ?? 0 }
  })
  return [
    ...foreign.map(({ stream, type, correlation }) => `${type} on ${stream}, caused by ${correlation}`),
    ...commands
      .filter(({ count, said }) => count > said)
      .map(({ id, count, said }) => `account ${id}: ${count} commands left facts, ${said} were accepted`),
  ]
}

type Noted = {
  readonly stream: string
  readonly id: string
  readonly type: string
  readonly correlation: string
  readonly command: string
}

async function factsAfter(dataDir: string, from: Position): Promise<readonly Noted[]> {
  const found: Noted[] = []
  for await (const event of eventsAfter(dataDir, from)) {
    const { correlation, command } = metaOf(event)
    found.push({ stream: event.stream, id: aggregateIdOf(event.stream), type: event.type, correlation, command })
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
