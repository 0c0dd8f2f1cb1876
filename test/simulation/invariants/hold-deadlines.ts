import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Settlement } from '@penstock/settlement/state.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import type { ProcessHost } from '../world/process-host.ts'
import { hasNoOpenTransaction } from './read-models.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/**
 * Milliseconds within which an undisturbed guard receives a block, checks each hold and decides. A block takes 500 ms, so the
 * guard decides about ten blocks before the node itself would cancel the payment.
 */
const GUARD_ROUND_MS = 1000
/**
 * Milliseconds without a disturbance after which a guard counts as undisturbed. A guard that gets no answer at the last height
 * retries after three seconds, and checks its other holds only then.
 */
const UNDISTURBED_MS = 3000 + GUARD_ROUND_MS
/** The longest time past the last height with a running, disturbed guard. A probe that a buyer delays takes ten seconds of it. */
const MAX_OVERDUE_MS = 25_000
const MAX_OVERDUE_WITHOUT_FAULTS_MS = 16_000
/** Milliseconds between two checks of the holds. */
export const HOLD_CHECK_INTERVAL_MS = 100

const NAME = 'no hold passes its height'

export const GUARD_PROCESSES = ['settlement.1', 'settlement.2']

/**
 * Checks that a guard settles or cancels each hold soon after its last height E − 24. The node's own timeout at E − 12 must never
 * decide. Only time with a running guard counts. An undisturbed guard has to decide within two blocks, and a disturbed guard
 * within a longer limit.
 */
export function createHoldDeadlineCheck(world: SimulatedWorld, host: ProcessHost, log: FoldedLog): () => void {
  const { engine, simnet, activeFaults } = world
  const { schedule, faults } = engine
  const heldOrders = new Set<string>()
  const listedOrders = new Set<string>()
  const dueSinceMs = new Map<string, number>()
  const overdueMs = new Map<string, number>()
  let [nextEvent, lastCheckMs] = [0, 0]
  let hadFaults = faults.isEnabled()

  const readNewFacts = (): void => {
    for (const { category, aggregateId, fact } of log.events.slice(nextEvent)) {
      if (category !== 'settlement') continue
      const state = readSettlementState(log, aggregateId)
      countHoldEnd(world, fact as SettlementFact, state, heldOrders.has(aggregateId)) // By its category.
      if (state?.hold.status === 'held') heldOrders.add(aggregateId)
      else {
        heldOrders.delete(aggregateId)
        listedOrders.delete(aggregateId)
        dueSinceMs.delete(aggregateId)
        overdueMs.delete(aggregateId)
      }
    }
    nextEvent = log.events.length
  }
  return () => {
    readNewFacts()
    const now = schedule.now()
    const sinceMs = now - lastCheckMs
    if (heldOrders.size === 0 || sinceMs < HOLD_CHECK_INTERVAL_MS) return
    lastCheckMs = now
    // When the faults are disabled, the shorter limit applies only to the time from now on.
    if (hadFaults && !faults.isEnabled()) overdueMs.clear()
    hadFaults = faults.isEnabled()
    const hasGuard = GUARD_PROCESSES.some(host.isAlive)
    const undisturbedGuards = GUARD_PROCESSES.filter((guard) => now - activeFaults.undisturbedSinceMs(guard) >= UNDISTURBED_MS)
    const height = readSimnetHeight(simnet)
    for (const orderId of heldOrders) {
      const { request, payment } = readSettlementState(log, orderId)?.hold ?? {}
      const isDue = request && payment && height >= payment.expiryHeight - request.guardBlocks
      if (!isDue) {
        dueSinceMs.delete(orderId)
        overdueMs.delete(orderId)
        continue
      }
      if (!listedOrders.has(orderId) && isListed(world, orderId)) listedOrders.add(orderId)
      // The replica that created the hold may freeze before it lists the stream. The second replica must first get the lease.
      if (!listedOrders.has(orderId) && undisturbedGuards.length < GUARD_PROCESSES.length) dueSinceMs.set(orderId, now)
      const dueMs = now - (dueSinceMs.get(orderId) ?? now)
      dueSinceMs.set(orderId, now - dueMs)
      if (undisturbedGuards.length > 0 && dueMs >= GUARD_ROUND_MS)
        throw new InvariantViolation(
          NAME,
          `order ${orderId} has been held past its last height for ${dueMs} ms, at ${height}, by an undisturbed guard`,
        )
      if (hasGuard) overdueMs.set(orderId, (overdueMs.get(orderId) ?? 0) + Math.min(sinceMs, 1000))
      const overdue = overdueMs.get(orderId) ?? 0
      if (overdue > (faults.isEnabled() ? MAX_OVERDUE_MS : MAX_OVERDUE_WITHOUT_FAULTS_MS))
        throw new InvariantViolation(NAME, `order ${orderId} is held at ${height}, and a guard was running for ${overdue} ms`)
    }
  }
}

function countHoldEnd(
  { countOccurrence }: SimulatedWorld,
  { type, data }: SettlementFact,
  state: Settlement | undefined,
  wasHeld: boolean,
): void {
  const isLast = type === 'SettlementStarted' ? data.lastHeight : type === 'CancelRequested' && data.reason === 'last-height'
  if (isLast) countOccurrence('hold that was ended at its last height')
  if (type === 'CancelRequested' && data.reason === 'node' && wasHeld) countOccurrence('hold that its node ended')
  if (type === 'PayoutSucceeded' && state?.payout.creditor === 'buyer') countOccurrence('refund that was paid')
}

/** Whether the settlement stream is in the table of unfinished streams. False while a transaction is open. */
const isListed = ({ views }: SimulatedWorld, orderId: string): boolean =>
  hasNoOpenTransaction(views) &&
  views.rows(`SELECT 1 FROM unfinished_streams WHERE service = 'settlement' AND stream = 'settlement-${orderId}'`).length > 0

export const readSimnetHeight = ({ rows }: SimulatedWorld['simnet']): number =>
  Number(rows<{ height: bigint }>('SELECT max(height) AS height FROM blocks')[0]?.height ?? 0)

// The cast is safe because the log folds this category with the settlement service.
export const readSettlementState = (log: FoldedLog, orderId: string): Settlement | undefined =>
  log.state(`settlement-${orderId}`) as Settlement | undefined
