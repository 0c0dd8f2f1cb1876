import type { PaymentFailure } from '@penstock/ports/lightning.ts'
import type { Hop } from './routes.ts'
import type { Net } from './store.ts'

type HtlcRow = { id: bigint; payer: string; outpoint: string; sender: string; receiver: string; amount_msat: bigint }

/** Takes the amount out of every hop's sending side; it is nobody's until the last node settles or cancels. */
export function lockHtlcs(net: Net, paymentHash: string, payer: string, hops: readonly Hop[]): void {
  hops.forEach(({ channel, sender, receiver, amountMsat, expiryHeight }, index) => {
    move(net, channel.outpoint, sender, -amountMsat, amountMsat)
    net.run(
      "INSERT INTO htlcs (payment_hash, payer, outpoint, sender, receiver, amount_msat, expiry_height, is_last, accepted_at, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'held')",
      paymentHash,
      payer,
      channel.outpoint,
      sender,
      receiver,
      amountMsat,
      expiryHeight,
      index === hops.length - 1 ? 1 : 0,
      net.clock.now(),
    )
  })
}

export function settleHtlcs(net: Net, payee: string, paymentHash: string, preimage: string): void {
  for (const { id, outpoint, receiver, amount_msat } of heldOf(net, payee, paymentHash)) {
    move(net, outpoint, receiver, amount_msat, -amount_msat)
    net.run("UPDATE htlcs SET state = 'settled' WHERE id = ?", id)
  }
  net.run(
    "UPDATE payments SET state = 'succeeded', preimage = ? WHERE payment_hash = ? AND payee = ? AND state = 'in-flight'",
    preimage,
    paymentHash,
    payee,
  )
  net.touch(`payment/${paymentHash}`)
}

export function cancelHtlcs(net: Net, payee: string, paymentHash: string, reason: PaymentFailure): void {
  for (const { id, outpoint, sender, amount_msat } of heldOf(net, payee, paymentHash)) {
    move(net, outpoint, sender, amount_msat, -amount_msat)
    net.run("UPDATE htlcs SET state = 'cancelled' WHERE id = ?", id)
  }
  net.run(
    "UPDATE payments SET state = 'failed', reason = ? WHERE payment_hash = ? AND payee = ? AND state = 'in-flight'",
    reason,
    paymentHash,
    payee,
  )
  net.touch(`payment/${paymentHash}`)
}

/** One part of a payment with all its hops. The payment has failed once nothing of it is held. @param last its last hop */
export function cancelPart(net: Net, last: bigint, reason: PaymentFailure): void {
  // The hops of a part are written one after the other, the last one at their end.
  const hops = net.all<HtlcRow & { payment_hash: string }>(
    `SELECT * FROM htlcs WHERE id <= ?1 AND state = 'held'
       AND id > coalesce((SELECT id FROM htlcs WHERE id < ?1 AND is_last = 1 ORDER BY id DESC LIMIT 1), 0)`,
    last,
  )
  for (const { id, payer, payment_hash, outpoint, sender, amount_msat } of hops) {
    move(net, outpoint, sender, amount_msat, -amount_msat)
    net.run("UPDATE htlcs SET state = 'cancelled' WHERE id = ?", id)
    net.run(
      `UPDATE payments SET state = 'failed', reason = ?1 WHERE payer = ?2 AND payment_hash = ?3 AND state = 'in-flight'
         AND NOT EXISTS (SELECT 1 FROM htlcs WHERE payer = ?2 AND payment_hash = ?3 AND state = 'held')`,
      reason,
      payer,
      payment_hash,
    )
    net.touch(`payment/${payment_hash}`)
  }
}

const heldOf = (net: Net, payee: string, paymentHash: string): HtlcRow[] =>
  net.all<HtlcRow>(
    `SELECT h.* FROM htlcs h JOIN payments p ON p.payment_hash = h.payment_hash AND p.payer = h.payer
     WHERE h.payment_hash = ? AND p.payee = ? AND h.state = 'held'`,
    paymentHash,
    payee,
  )

/** What has come to a node under this hash, and waits there. */
export const waitingMsat = (net: Net, payee: string, paymentHash: string): bigint =>
  net.get<{ sum: bigint }>(
    "SELECT coalesce(sum(amount_msat), 0) AS sum FROM htlcs WHERE payment_hash = ? AND receiver = ? AND is_last = 1 AND state = 'held'",
    paymentHash,
    payee,
  )?.sum ?? 0n

/** Moves between a side of a channel and what hangs in it. The schema refuses what would fall below zero. */
function move(net: Net, outpoint: string, side: string, sideMsat: bigint, heldMsat: bigint): void {
  const slots = heldMsat > 0n ? 1 : -1
  net.run(
    `UPDATE channels SET a_msat = a_msat + iif(a = ?2, ?3, 0), b_msat = b_msat + iif(b = ?2, ?3, 0), held_msat = held_msat + ?4, slots = slots + ?5
     WHERE outpoint = ?1`,
    outpoint,
    side,
    sideMsat,
    heldMsat,
    slots,
  )
}
