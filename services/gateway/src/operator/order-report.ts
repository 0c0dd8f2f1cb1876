import { isoTime } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { AttemptView } from '../market/views/order-view.ts'
import { getCurrentChannel, findStoredOrder, listOrderFacts } from '../market/read/orders.ts'

const formatTime = (at: number | null | undefined): string | null => (at === null || at === undefined ? null : isoTime(at))

/** Reads any order as an operator sees it, with the facts of all its streams. */
export async function readOrderReport(views: Pick<Views, 'db'>, orderId: string) {
  const stored = await findStoredOrder(views, orderId)
  if (!stored) return undefined
  const { order, hold } = stored
  const channel = getCurrentChannel(stored)
  const { terms } = order
  const shownAttempt =
    order.attempts.find(({ outpoint }) => outpoint !== null && outpoint === order.outpoint) ?? order.attempts.at(-1)
  const facts = await listOrderFacts(views, orderId, ['order', 'settlement', 'channel'])
  return {
    id: order.id,
    source: terms.source,
    status: order.status,
    payment_status: order.paymentStatus,
    reason: order.reason ?? order.closing?.reason ?? null,
    created_at: isoTime(order.createdAt),
    size_sat: terms.sizeSat,
    price_sat: terms.priceSat,
    outpoint: order.outpoint,
    channel_id: order.channelId ?? channel?.channelId ?? null,
    confirmations: Math.max(order.confirmations, channel?.confirmations ?? 0),
    seller_pubkey: (shownAttempt?.candidate ?? terms.candidate).sellerPubkey,
    buyer_pubkey: terms.destination.pubkey,
    private: terms.isPrivate,
    statuses: order.statuses.map(({ status, at }) => ({ status, at: isoTime(at) })),
    attempts: order.attempts.map(toAttemptReport),
    hold: {
      status: hold?.status ?? null,
      payment_hash: hold?.paymentHash ?? null,
      expiry_height: hold?.expiryHeight ?? null,
      settled_at: formatTime(hold?.settledAt),
      cancelled_at: formatTime(hold?.cancelledAt),
      reason: hold?.reason ?? null,
    },
    operator_loss: { status: hold?.loss?.status ?? null, cause: hold?.loss?.cause ?? null },
    payout: {
      state: hold?.payout?.state ?? null,
      payee: hold?.payout?.payee ?? null,
      attempts: hold?.payout?.attempts ?? 0,
      reason: hold?.payout?.reason ?? null,
      fee_msat: hold?.payout?.feeMsat ?? null,
      creditor: hold?.owed.creditor ?? 'seller',
      owed_msat: hold?.owed.amountMsat ?? '0',
      decided_for: hold?.payout?.decision?.to ?? null,
      decided_by: hold?.payout?.decision?.by ?? null,
      decision_reason: hold?.payout?.decision?.reason ?? null,
    },
    payout_withheld: (hold?.payout?.withheld ?? []).map(({ cause, reason, untilHeight }) => ({
      cause,
      until_height: untilHeight,
      reason,
    })),
    ledger: (hold?.ledger ?? []).map(({ posting, at, entries }) => ({ posting, at: isoTime(at), entries })),
    incidents: hold?.incidents ?? [],
    timeline: facts.map(({ category, type, at, data }) => ({ at: isoTime(at), stream: category, fact: type, data })),
  }
}

const toAttemptReport = ({ attempt, candidate, status, startedAt, openBefore, outpoint, reason }: AttemptView) => ({
  attempt,
  seller_pubkey: candidate.sellerPubkey,
  offer_id: candidate.offerId,
  status,
  started_at: isoTime(startedAt),
  open_before: formatTime(openBefore),
  outpoint,
  reason,
})
