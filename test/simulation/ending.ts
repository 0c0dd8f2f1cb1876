import type { SQLInputValue } from 'node:sqlite'
import { balanceFaults, wealthFrom } from '../faults/balances.ts'
import { booksOf } from '../faults/books.ts'
import { moneyFaults } from '../faults/money.ts'
import { differencesFromFold, unread } from '../faults/read-models.ts'
import { truthFrom } from '../faults/truth.ts'
import { Broken, type Ledger } from './checks.ts'
import { isQuiet } from './views.ts'
import type { World } from './world.ts'

/**
 * Everything is looked at once more, whole.
 * @param gainedMsat what the market's node has more than at the beginning @returns how many orders ended how
 */
export async function looksAtTheEnd(
  world: World,
  ledger: Ledger,
  gainedMsat: () => bigint,
  afterStep: () => void,
): Promise<Readonly<Record<string, number>>> {
  const { simnet, pepper, engine } = world
  // What is written just then is not committed yet.
  await engine.schedule.run({ until: () => isQuiet(world.views), untilMs: engine.schedule.now() + 10_000, afterStep })
  const books = booksOf(ledger.events)
  const truth = truthFrom((sql) => simnet.rows(sql))
  const [money] = moneyFaults(books, truth, gainedMsat(), world.undone)
  if (money !== undefined) throw new Broken('money', money)
  const balances = new Map(
    simnet.control.balances().nodes.map(({ alias, onChainMsat, channelMsat }) => [alias, onChainMsat + channelMsat]),
  )
  const [balance] = balanceFaults(
    books,
    truth.payments,
    wealthFrom((sql) => simnet.rows(sql)),
    balances,
  )
  if (balance !== undefined) throw new Broken('balances', balance)
  const rows = async (sql: string) => asOfToday(world.views.rows<Record<string, SQLInputValue>>(sql), ledger)
  const differences = await differencesFromFold(rows, pepper, ledger.events)
  if (differences.length > 0) throw new Broken('read models', differences.slice(0, 3).join('\n'))
  const counts: Record<string, number> = {}
  for (const { status } of books) counts[status ?? 'no order'] = (counts[status ?? 'no order'] ?? 0) + 1
  return counts
}

/** Whether every read model has all the facts that are its own. */
export async function hasReadAll(world: World, { events }: Ledger): Promise<boolean> {
  if (!isQuiet(world.views)) return false
  // Where gateways of an earlier release ran to the end, today's have not made their tables yet.
  if (world.views.rows("SELECT 1 FROM sqlite_schema WHERE name = 'gateway_order_facts_v2'").length === 0) return false
  // Before the others, which are looked at event by event.
  const read = world.views.rows<{ count: number }>(
    "SELECT count(*) AS count FROM gateway_order_facts_v2 WHERE category IN ('order', 'settlement')",
  )[0]?.count
  if (read !== events.filter(({ category }) => category === 'order' || category === 'settlement').length) return false
  return (await unread(async (text) => world.views.rows(text), events)).length === 0
}

type Row = Readonly<Record<string, SQLInputValue>>

/** What a gateway of an earlier release wrote may lack what a newer shape of the fact has; all that it has is compared. */
function asOfToday(rows: readonly Row[], { events }: Ledger): readonly Row[] {
  if (rows[0]?.['event_id'] === undefined) return rows
  // Facts are plain JSON.
  const facts = new Map(events.map(({ id, fact }) => [id, fact.data as Readonly<Record<string, unknown>>]))
  return rows.map((row) => {
    const { event_id: id, data } = row
    const told = typeof id === 'string' ? facts.get(id) : undefined
    if (told === undefined || typeof data !== 'string') return row
    const written = Object.entries(JSON.parse(data) as object)
    const isPart = written.every(([key, value]) => JSON.stringify(value) === JSON.stringify(told[key]))
    return isPart ? { ...row, data: JSON.stringify(told) } : row
  })
}
