import type { Settlement } from '@penstock/settlement/state.ts'
import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import { GUARD_PROCESSES, readSimnetHeight, HOLD_CHECK_INTERVAL_MS, readSettlementState } from './hold-deadlines.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** The number of blocks before an HTLC's expiry height at which the guard has to end the HTLC, even if no fact requests it. */
const GUARD_BLOCKS = 24
/** Milliseconds for a check, a decision and a call to the node, if the guard was undisturbed for `MAX_BACKOFF_MS` before. */
const END_TIMEOUT_MS = 2000
const MAX_BACKOFF_MS = 5000
/** Milliseconds after a disturbance within which a replica ends the HTLC. It first waits for the lease and for recovery. */
const RECOVERY_TIMEOUT_MS = 25_000

type HeldHtlc = { readonly payment_hash: string; readonly expiryHeight: bigint }

/**
 * Checks by the network's tables that each HTLC at the market's node ends in time. An HTLC is due when the facts request its end,
 * or at its last height. Only time since the last disturbance of the guards counts.
 */
export function createHtlcDeadlineCheck(world: SimulatedWorld, log: FoldedLog, marketPubkey: string): () => void {
  const { engine, simnet, activeFaults } = world
  const orders = new Map<string, string>()
  const dueSinceMs = new Map<string, number>()
  let [nextEvent, lastCheckMs] = [0, 0]

  const isEndRequested = (order: string | undefined): boolean => order !== undefined && isEnding(readSettlementState(log, order))
  const checkHtlc = (now: number, { payment_hash: hash, expiryHeight }: HeldHtlc): void => {
    const order = orders.get(hash)
    const height = readSimnetHeight(simnet)
    if (!isEndRequested(order) && height < Number(expiryHeight) - GUARD_BLOCKS) return void dueSinceMs.delete(hash)
    const dueSince = dueSinceMs.get(hash) ?? now
    dueSinceMs.set(hash, dueSince)
    const undisturbedSince = Math.max(...GUARD_PROCESSES.map((guard) => activeFaults.undisturbedSinceMs(guard)))
    const isUndisturbed = undisturbedSince <= dueSince - MAX_BACKOFF_MS
    if (now - Math.max(dueSince, undisturbedSince) <= (isUndisturbed ? END_TIMEOUT_MS : RECOVERY_TIMEOUT_MS)) return
    const status = order === undefined ? 'no order' : `order ${order}, ${readSettlementState(log, order)?.hold.status}`
    throw new InvariantViolation(
      'due payments end',
      `${hash} (${status}) is still held at height ${height}, ${now - dueSince} ms after its deadline, by undisturbed guards`,
    )
  }
  return () => {
    for (const { category, aggregateId, fact } of log.events.slice(nextEvent))
      if (category === 'settlement' && fact.type === 'HoldRequested')
        orders.set((fact.data as { readonly paymentHash: string }).paymentHash, aggregateId) // By its contract.
    nextEvent = log.events.length
    const now = engine.schedule.now()
    if (now - lastCheckMs < HOLD_CHECK_INTERVAL_MS) return
    lastCheckMs = now
    const heldHtlcs = simnet.rows<HeldHtlc>(selectHeldHtlcs(marketPubkey))
    for (const hash of dueSinceMs.keys())
      if (!heldHtlcs.some(({ payment_hash }) => payment_hash === hash)) dueSinceMs.delete(hash)
    for (const htlc of heldHtlcs) checkHtlc(now, htlc)
  }
}

/** Selects only payments whose HTLCs have all arrived, because the market cannot end an incomplete multi-part payment. */
const selectHeldHtlcs = (node: string): string => `SELECT payment_hash, min(expiry_height) AS "expiryHeight" FROM htlcs
  WHERE state = 'held' AND is_last = 1 AND waits_since IS NULL AND receiver = '${node}' GROUP BY payment_hash`

const ENDING_STATUSES: ReadonlySet<string> = new Set(['settling', 'cancelling', 'cancelled'])
const isEnding = (state: Settlement | undefined): boolean => state !== undefined && ENDING_STATUSES.has(state.hold.status)
