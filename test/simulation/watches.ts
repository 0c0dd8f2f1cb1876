import type { Settlement } from '@penstock/settlement/state.ts'
import { Broken, type Ledger } from './checks.ts'
import type { Cradle } from './processes.ts'
import type { World } from './world.ts'

/** By then a guard that stands, and is answered, has spoken: a probe that the buyer keeps takes ten seconds of it. */
const GUARD_TAKES_MS = 25_000
const WITHOUT_FAULTS_MS = 16_000
/** Between two looks at the holds. */
export const LOOK_EVERY_MS = 100

/**
 * No hold passes its height (decisions, A4): from E - 24 on it is settled or cancelled as soon as a guard can act. Only
 * the time counts in which one stands; what faults may take of it is bounded too.
 */
export function holdsInTime({ engine, simnet }: World, cradle: Cradle, ledger: Ledger): () => void {
  const { schedule, faults } = engine
  const held = new Set<string>()
  const overdueMs = new Map<string, number>()
  let [seen, before] = [0, 0]

  const takeIn = (): void => {
    for (const { category, aggregateId } of ledger.events.slice(seen)) {
      if (category !== 'settlement') continue
      if (stateOf(ledger, aggregateId)?.hold.status === 'held') held.add(aggregateId)
      else held.delete(aggregateId)
    }
    seen = ledger.events.length
  }
  return () => {
    takeIn()
    const now = schedule.now()
    const sinceMs = now - before
    if (held.size === 0 || sinceMs < LOOK_EVERY_MS) return
    before = now
    const stands = cradle.alive('settlement.1') || cradle.alive('settlement.2')
    const height = Number(simnet.rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0)
    for (const order of held) {
      const { request, payment } = stateOf(ledger, order)?.hold ?? {}
      const isDue = request && payment && height >= payment.expiryHeight - request.guardBlocks
      if (!isDue) overdueMs.delete(order)
      else if (stands) overdueMs.set(order, (overdueMs.get(order) ?? 0) + Math.min(sinceMs, 1000))
      const ms = overdueMs.get(order) ?? 0
      if (ms > (faults.areOn() ? GUARD_TAKES_MS : WITHOUT_FAULTS_MS))
        throw new Broken('no hold passes its height', `order ${order} is held at ${height}, and a guard stood for ${ms} ms`)
    }
  }
}

// The category has the state that settlement folds.
const stateOf = (ledger: Ledger, order: string): Settlement | undefined =>
  ledger.state(`settlement-${order}`) as Settlement | undefined

/** Read models may lag behind the streams, and never know what nobody has appended. */
export function viewsBehind({ views }: World, ledger: Ledger): () => void {
  const revisions = new Map<string, number>()
  let seen = 0
  return () => {
    for (const { category, aggregateId, revision } of ledger.events.slice(seen))
      revisions.set(`${category}-${aggregateId}`, revision)
    seen = ledger.events.length
    for (const { stream, revision } of read<{ stream: string; revision: number }>(
      views,
      'SELECT stream, max(revision) AS revision FROM progress_streams GROUP BY stream',
    ))
      if (revision > (revisions.get(stream) ?? -1))
        throw new Broken('read models are behind', `${stream} was read up to ${revision}, and ends at ${revisions.get(stream)}`)
    const [{ count } = { count: 0 }] = read<{ count: number }>(views, 'SELECT count(*) AS count FROM gateway_order_facts')
    const told = ledger.events.length
    if (count > told) throw new Broken('read models are behind', `${count} facts of orders were read, and ${told} were appended`)
  }
}

/** Nothing while somebody writes: what is not committed is nobody else's to see. */
function read<Row>(views: World['views'], sql: string): readonly Row[] {
  try {
    return views.rows<Row>(sql)
  } catch {
    return []
  }
}
