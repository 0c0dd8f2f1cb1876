import type { PaymentFailure } from '@penstock/ports/lightning.ts'
import type { Hop } from './pathfinding.ts'
import type { SimnetStore } from '../store.ts'

type HtlcRow = { id: bigint; payer: string; outpoint: string; sender: string; receiver: string; amount_msat: bigint }

/**
 * Deducts the amount of every hop from the sending side of its channel. The amount belongs to neither side until the last node
 * settles or cancels.
 */
export function lockHtlcs(store: SimnetStore, paymentHash: string, payer: string, hops: readonly Hop[]): void {
  hops.forEach(({ channel, sender, receiver, amountMsat, expiryHeight }, index) => {
    moveMsat(store, channel.outpoint, sender, -amountMsat, amountMsat)
    store.run(
      "INSERT INTO htlcs (payment_hash, payer, outpoint, sender, receiver, amount_msat, expiry_height, is_last, accepted_at, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'held')",
      paymentHash,
      payer,
      channel.outpoint,
      sender,
      receiver,
      amountMsat,
      expiryHeight,
      index === hops.length - 1 ? 1 : 0,
      store.clock.now(),
    )
  })
}

export function settleHtlcs(store: SimnetStore, payee: string, paymentHash: string, preimage: string): void {
  for (const { id, outpoint, receiver, amount_msat } of findHeldHtlcs(store, payee, paymentHash)) {
    moveMsat(store, outpoint, receiver, amount_msat, -amount_msat)
    store.run("UPDATE htlcs SET state = 'settled' WHERE id = ?", id)
  }
  store.run(
    "UPDATE payments SET state = 'succeeded', preimage = ? WHERE payment_hash = ? AND payee = ? AND state = 'in-flight'",
    preimage,
    paymentHash,
    payee,
  )
  store.notify(`payment/${paymentHash}`)
}

export function cancelHtlcs(store: SimnetStore, payee: string, paymentHash: string, reason: PaymentFailure): void {
  for (const { id, outpoint, sender, amount_msat } of findHeldHtlcs(store, payee, paymentHash)) {
    moveMsat(store, outpoint, sender, amount_msat, -amount_msat)
    store.run("UPDATE htlcs SET state = 'cancelled' WHERE id = ?", id)
  }
  store.run(
    "UPDATE payments SET state = 'failed', reason = ? WHERE payment_hash = ? AND payee = ? AND state = 'in-flight'",
    reason,
    paymentHash,
    payee,
  )
  store.notify(`payment/${paymentHash}`)
}

/**
 * Cancels one part of a payment with all its hops. The payment fails once none of its parts is held.
 * @param last the id of the last hop of the part
 */
export function cancelPaymentPart(store: SimnetStore, last: bigint, reason: PaymentFailure): void {
  // The hops of a part have consecutive ids, and the last hop has the highest id.
  const hops = store.all<HtlcRow & { payment_hash: string }>(
    `SELECT * FROM htlcs WHERE id <= ?1 AND state = 'held'
       AND id > coalesce((SELECT id FROM htlcs WHERE id < ?1 AND is_last = 1 ORDER BY id DESC LIMIT 1), 0)`,
    last,
  )
  for (const { id, payer, payment_hash, outpoint, sender, amount_msat } of hops) {
    moveMsat(store, outpoint, sender, amount_msat, -amount_msat)
    store.run("UPDATE htlcs SET state = 'cancelled' WHERE id = ?", id)
    store.run(
      `UPDATE payments SET state = 'failed', reason = ?1 WHERE payer = ?2 AND payment_hash = ?3 AND state = 'in-flight'
         AND NOT EXISTS (SELECT 1 FROM htlcs WHERE payer = ?2 AND payment_hash = ?3 AND state = 'held')`,
      reason,
      payer,
      payment_hash,
    )
    store.notify(`payment/${payment_hash}`)
  }
}

const findHeldHtlcs = (store: SimnetStore, payee: string, paymentHash: string): HtlcRow[] =>
  store.all<HtlcRow>(
    `SELECT h.* FROM htlcs h JOIN payments p ON p.payment_hash = h.payment_hash AND p.payer = h.payer
     WHERE h.payment_hash = ? AND p.payee = ? AND h.state = 'held'`,
    paymentHash,
    payee,
  )

/** The amount in msat of all HTLCs with a payment hash that are held at the payee. */
export const readWaitingMsat = (store: SimnetStore, payee: string, paymentHash: string): bigint =>
  store.get<{ sum: bigint }>(
    "SELECT coalesce(sum(amount_msat), 0) AS sum FROM htlcs WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held'",
    paymentHash,
    payee,
  )?.sum ?? 0n

/** Moves msat between a side of a channel and its pending HTLCs. The schema refuses negative balances. */
function moveMsat(store: SimnetStore, outpoint: string, side: string, sideMsat: bigint, heldMsat: bigint): void {
  const slots = heldMsat > 0n ? 1 : -1
  store.run(
    `UPDATE channels SET a_msat = a_msat + iif(a = ?2, ?3, 0), b_msat = b_msat + iif(b = ?2, ?3, 0), held_msat = held_msat + ?4, slots = slots + ?5
     WHERE outpoint = ?1`,
    outpoint,
    side,
    sideMsat,
    heldMsat,
    slots,
  )
}
