import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Settlement } from '@penstock/settlement/state.ts'
import { Broken, type Ledger } from './checks.ts'
import type { Cradle } from './processes.ts'
import { isQuiet } from './views.ts'
import type { World } from './world.ts'

/**
 * What a guard takes that stands and is answered: it hears of a block, looks at each hold and says its word. A block is
 * 500 ms, so it has spoken twelve blocks before the node would give the payment back by itself.
 */
const ROUND_MS = 1000
/** Whoever was not answered at the last height asks again after three seconds, and other holds of the round wait for that. */
const CALM_MS = 3000 + ROUND_MS
/** Whatever the faults, for they never last: a probe that the buyer keeps takes ten seconds of it. */
const GUARD_TAKES_MS = 25_000
const WITHOUT_FAULTS_MS = 16_000
/** Between two looks at the holds. */
export const LOOK_EVERY_MS = 100

export const GUARDS = ['settlement.1', 'settlement.2']

/**
 * No hold passes its height: from E - 24 on it is settled or cancelled as soon as a guard can act, and what
 * the node does by itself at E - 12 is never the plan. Only the time counts in which a guard stands; one that nothing has
 * troubled for a while has two blocks, and what faults may take of the others' time is bounded too.
 */
export function holdsInTime(world: World, cradle: Cradle, ledger: Ledger): () => void {
  const { engine, simnet, troubles } = world
  const { schedule, faults } = engine
  const held = new Set<string>()
  const listed = new Set<string>()
  const dueSinceMs = new Map<string, number>()
  const overdueMs = new Map<string, number>()
  let [seen, before] = [0, 0]
  let wereOn = faults.areOn()

  const takeIn = (): void => {
    for (const { category, aggregateId, fact } of ledger.events.slice(seen)) {
      if (category !== 'settlement') continue
      countEnd(world, fact as SettlementFact, stateOf(ledger, aggregateId), held.has(aggregateId)) // the category's own
      if (stateOf(ledger, aggregateId)?.hold.status === 'held') held.add(aggregateId)
      else {
        held.delete(aggregateId)
        listed.delete(aggregateId)
        dueSinceMs.delete(aggregateId)
        overdueMs.delete(aggregateId)
      }
    }
    seen = ledger.events.length
  }
  return () => {
    takeIn()
    const now = schedule.now()
    const sinceMs = now - before
    if (held.size === 0 || sinceMs < LOOK_EVERY_MS) return
    before = now
    // What it took under faults says nothing about how long it takes without.
    if (wereOn && !faults.areOn()) overdueMs.clear()
    wereOn = faults.areOn()
    const stands = GUARDS.some(cradle.alive)
    const calm = GUARDS.filter((guard) => now - troubles.calmSinceMs(guard) >= CALM_MS)
    const height = heightOf(simnet)
    for (const order of held) {
      const { request, payment } = stateOf(ledger, order)?.hold ?? {}
      const isDue = request && payment && height >= payment.expiryHeight - request.guardBlocks
      if (!isDue) {
        dueSinceMs.delete(order)
        overdueMs.delete(order)
        continue
      }
      if (!listed.has(order) && isListed(world, order)) listed.add(order)
      // The replica that made it may stand still before it is listed: another learns of it when it has its lease.
      if (!listed.has(order) && calm.length < GUARDS.length) dueSinceMs.set(order, now)
      const dueMs = now - (dueSinceMs.get(order) ?? now)
      dueSinceMs.set(order, now - dueMs)
      if (calm.length > 0 && dueMs >= ROUND_MS)
        throw new Broken(
          'no hold passes its height',
          `order ${order} is held at ${height}, for ${dueMs} ms, and nothing troubled its guard`,
        )
      if (stands) overdueMs.set(order, (overdueMs.get(order) ?? 0) + Math.min(sinceMs, 1000))
      const ms = overdueMs.get(order) ?? 0
      if (ms > (faults.areOn() ? GUARD_TAKES_MS : WITHOUT_FAULTS_MS))
        throw new Broken('no hold passes its height', `order ${order} is held at ${height}, and a guard stood for ${ms} ms`)
    }
  }
}

function countEnd({ reached }: World, { type, data }: SettlementFact, state: Settlement | undefined, wasHeld: boolean): void {
  const isLast = type === 'SettleRequested' ? data.lastHeight : type === 'CancelRequested' && data.reason === 'last-height'
  if (isLast) reached('hold that was ended at its last height')
  if (type === 'CancelRequested' && data.reason === 'node' && wasHeld) reached('hold that its node ended')
  if (type === 'PayoutSucceeded' && state?.payout.creditor === 'buyer') reached('refund that was paid')
}

/** As far as that can be seen just now. */
const isListed = ({ views }: World, order: string): boolean =>
  isQuiet(views) &&
  views.rows(`SELECT 1 FROM unfinished_streams WHERE service = 'settlement' AND stream = 'settlement-${order}'`).length > 0

export const heightOf = ({ rows }: World['simnet']): number =>
  Number(rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0)

// The category has the state that settlement folds.
export const stateOf = (ledger: Ledger, order: string): Settlement | undefined =>
  ledger.state(`settlement-${order}`) as Settlement | undefined
