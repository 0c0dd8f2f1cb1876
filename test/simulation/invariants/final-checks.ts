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
  const viewRows = async (sql: string) => world.views.rows<Record<string, SQLInputValue>>(sql)
  const differences = await compareWithFold(viewRows, pepper, log.events)
  if (differences.length > 0) throw new InvariantViolation('read models', differences.slice(0, 3).join('\n'))
  const counts: Record<string, number> = {}
  for (const { status } of orders) counts[status ?? 'no order'] = (counts[status ?? 'no order'] ?? 0) + 1
  return counts
}

/** Whether every read model has applied all of its facts. */
export async function hasReadAllFacts(world: SimulatedWorld, { events }: FoldedLog): Promise<boolean> {
  if (!hasNoOpenTransaction(world.views)) return false
  // The count is compared first, because it is cheap and the next check reads every event.
  const factCount = world.views.rows<{ count: number }>(
    "SELECT count(*) AS count FROM gateway_order_facts_v2 WHERE category IN ('order', 'settlement')",
  )[0]?.count
  if (factCount !== events.filter(({ category }) => category === 'order' || category === 'settlement').length) return false
  return (await findUnreadFacts(async (text) => world.views.rows(text), events)).length === 0
}
