import { cancelPart } from './htlcs.ts'
import type { Net } from './store.ts'

/** How long lnd keeps a part whose others do not come, from its own arrival (`DefaultHtlcHoldDuration`). */
const PART_HOLD_MS = 120_000

type Part = { readonly id: bigint; readonly payment_hash: string }

/** The one that has just come is not the last of its payment: it waits, and goes back when it has waited long enough. */
export function waitForOthers(net: Net, payee: string, paymentHash: string): void {
  const since = net.clock.now()
  net.run(
    `UPDATE htlcs SET waits_since = ?
     WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held' AND waits_since IS NULL`,
    since,
    paymentHash,
    payee,
  )
  giveBackInTime(net, since)
}

/** All of them are there. Those that were given back before are no part of it. */
export function waitNoMore(net: Net, payee: string, paymentHash: string): void {
  net.run(
    "UPDATE htlcs SET waits_since = NULL WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held'",
    paymentHash,
    payee,
  )
}

/** What waits when the network is opened goes on to, from when it came. */
export function resumeWaiting(net: Net): void {
  const waiting = net.all<{ since: bigint }>(
    "SELECT DISTINCT waits_since AS since FROM htlcs WHERE waits_since IS NOT NULL AND state = 'held'",
  )
  for (const { since } of waiting) giveBackInTime(net, Number(since))
}

/**
 * The invoice stays open: it can still be paid. The payer's node hears `MPPTimeout`, which blames no channel. A node that is
 * offline does it when it is back.
 */
export function giveBackParts(net: Net, now: number): void {
  const due = net.all<Part>(
    `SELECT h.id, h.payment_hash FROM htlcs h JOIN nodes n ON n.pubkey = h.receiver
     WHERE h.waits_since <= ? AND h.state = 'held' AND n.online = 1 ORDER BY h.waits_since, h.id`,
    now - PART_HOLD_MS,
  )
  for (const { id, payment_hash } of due) {
    cancelPart(net, id, 'no-route')
    net.touch(`invoice/${payment_hash}`)
  }
}

function giveBackInTime(net: Net, since: number): void {
  const at = since + PART_HOLD_MS
  // By the instant that was waited for: a timer may ring a little before its clock says so.
  const giveBack = (): void => void (net.ended.aborted || net.write(() => giveBackParts(net, at)))
  void net.clock.sleep(at - net.clock.now(), net.ended).then(giveBack)
}
