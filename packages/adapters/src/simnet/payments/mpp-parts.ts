import { Fault } from '@penstock/kernel/result.ts'
import { cancelPaymentPart } from './htlcs.ts'
import type { SimnetStore } from '../store.ts'

/** Milliseconds for which lnd holds an arrived part while other parts are missing (`DefaultHtlcHoldDuration`). */
const PART_TIMEOUT_MS = 120_000
/** The pause after a write that failed, for example because the disk is full. */
const RETRY_MS = 1000

type PartRow = { readonly id: bigint; readonly payment_hash: string }

/** Marks a new part as waiting for other parts, and schedules its cancellation at the timeout. */
export function waitForOtherParts(store: SimnetStore, payee: string, paymentHash: string): void {
  const since = store.clock.now()
  store.run(
    `UPDATE htlcs SET waits_since = ?
     WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held' AND waits_since IS NULL`,
    since,
    paymentHash,
    payee,
  )
  schedulePartTimeout(store, since)
}

/** Marks all held parts as complete. Parts that were cancelled before do not count. */
export function completeParts(store: SimnetStore, payee: string, paymentHash: string): void {
  store.run(
    "UPDATE htlcs SET waits_since = NULL WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held'",
    paymentHash,
    payee,
  )
}

/** Resumes the timeouts of waiting parts when the network opens, counted from their arrival. */
export function resumePartTimeouts(store: SimnetStore): void {
  const waiting = store.all<{ since: bigint }>(
    "SELECT DISTINCT waits_since AS since FROM htlcs WHERE waits_since IS NOT NULL AND state = 'held'",
  )
  for (const { since } of waiting) schedulePartTimeout(store, Number(since))
}

/**
 * Cancels expired parts; an offline node does so on its return. The invoice stays open and can still be paid. The node of the
 * payer gets `MPPTimeout`, which blames no channel.
 */
export function expireParts(store: SimnetStore, now: number): void {
  const due = store.all<PartRow>(
    `SELECT h.id, h.payment_hash FROM htlcs h JOIN nodes n ON n.pubkey = h.receiver
     WHERE h.waits_since <= ? AND h.state = 'held' AND n.online = 1 ORDER BY h.waits_since, h.id`,
    now - PART_TIMEOUT_MS,
  )
  for (const { id, payment_hash } of due) {
    cancelPaymentPart(store, id, 'no-route')
    store.notify(`invoice/${payment_hash}`)
  }
}

function schedulePartTimeout(store: SimnetStore, since: number): void {
  const at = since + PART_TIMEOUT_MS
  // Uses the scheduled time, because a timer may fire slightly before the clock reaches it.
  const expire = (): void => {
    if (store.ended.aborted) return
    try {
      store.write(() => expireParts(store, at))
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      void store.clock.sleep(RETRY_MS, store.ended).then(expire)
    }
  }
  void store.clock.sleep(at - store.clock.now(), store.ended).then(expire)
}
