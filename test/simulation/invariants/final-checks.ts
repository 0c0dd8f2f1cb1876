import type { SQLInputValue } from 'node:sqlite'
import { readNodeFundsFrom } from '../../support/invariants/balances.ts'
import { buildOrderModels } from '../../support/invariants/order-model.ts'
import { checkMoney } from '../../support/invariants/money.ts'
import { compareWithFold, findUnreadFacts } from '../../support/invariants/read-models.ts'
import { buildNetworkState } from '../../support/invariants/network-state.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import { hasNoOpenTransaction } from './read-models.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/**
 * Checks money, balances and all read models at the end of a run.
 * @param gainedMsat returns the change of the balance of the market's node since the beginning of the run
 * @param afterStep runs after each step of the simulation @returns the number of orders by status
 */
export async function runFinalChecks(
  world: SimulatedWorld,
  log: FoldedLog,
  gainedMsat: () => bigint,
  afterStep: () => void,
): Promise<Readonly<Record<string, number>>> {
  const { simnet, pepper, engine } = world
  // Read models cannot be read while a transaction is open.
  await engine.schedule.run({
    until: () => hasNoOpenTransaction(world.views),
    untilMs: engine.schedule.now() + 10_000,
    afterStep,
  })
  const orders = buildOrderModels(log.events)
  const balances = new Map(
    simnet.control.balances().nodes.map(({ alias, onChainMsat, channelMsat }) => [alias, onChainMsat + channelMsat]),
  )
  const rows = <Row>(sql: string): readonly Row[] => simnet.rows<Row>(sql)
  const [broken] = checkMoney({
    orders,
    networkState: buildNetworkState(rows),
    gainedMsat: gainedMsat(),
    nodeFunds: readNodeFundsFrom(rows),
    balances,
    reorgedOutpoints: world.undoneFundings,
  })
  if (broken) throw new InvariantViolation(broken.rule, broken.violation)
  const viewRows = async (sql: string) => withCurrentShape(world.views.rows<Record<string, SQLInputValue>>(sql), log)
  const differences = await compareWithFold(viewRows, pepper, log.events)
  if (differences.length > 0) throw new InvariantViolation('read models', differences.slice(0, 3).join('\n'))
  const counts: Record<string, number> = {}
  for (const { status } of orders) counts[status ?? 'no order'] = (counts[status ?? 'no order'] ?? 0) + 1
  return counts
}

/** Whether every read model has applied all of its facts. */
export async function hasReadAllFacts(world: SimulatedWorld, { events }: FoldedLog): Promise<boolean> {
  if (!hasNoOpenTransaction(world.views)) return false
  // Only gateways of the current release create this table, and until the roll-out all gateways may be of the previous release.
  if (world.views.rows("SELECT 1 FROM sqlite_schema WHERE name = 'gateway_order_facts_v2'").length === 0) return false
  // The count is compared first, because it is cheap and the next check reads every event.
  const factCount = world.views.rows<{ count: number }>(
    "SELECT count(*) AS count FROM gateway_order_facts_v2 WHERE category IN ('order', 'settlement')",
  )[0]?.count
  if (factCount !== events.filter(({ category }) => category === 'order' || category === 'settlement').length) return false
  return (await findUnreadFacts(async (text) => world.views.rows(text), events)).length === 0
}

type ViewRow = Readonly<Record<string, SQLInputValue>>

/** Adds new fields to stored facts that lack them. A gateway of the previous release stores facts without new fields. */
function withCurrentShape(rows: readonly ViewRow[], { events }: FoldedLog): readonly ViewRow[] {
  if (rows[0]?.['event_id'] === undefined) return rows
  // The cast is safe because facts are plain JSON.
  const facts = new Map(events.map(({ id, fact }) => [id, fact.data as Readonly<Record<string, unknown>>]))
  return rows.map((row) => {
    const { event_id: id, data } = row
    const storedFact = typeof id === 'string' ? facts.get(id) : undefined
    if (storedFact === undefined || typeof data !== 'string') return row
    const storedFields = Object.entries(JSON.parse(data) as object)
    const isSubset = storedFields.every(([key, value]) => JSON.stringify(value) === JSON.stringify(storedFact[key]))
    return isSubset ? { ...row, data: JSON.stringify(storedFact) } : row
  })
}
