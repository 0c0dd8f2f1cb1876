import { isoTime } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { AttemptView } from '../views/order-view.ts'
import { channelOf, orderById, stepsOf } from './orders.ts'

const time = (at: number | null | undefined): string | null => (at === null || at === undefined ? null : isoTime(at))

/** An order as an operator sees it, whoever's it is: all of its streams on one page. */
export async function orderReport(views: Pick<Views, 'db'>, orderId: string) {
  const found = await orderById(views, orderId)
  if (!found) return undefined
  const { order, hold } = found
  const channel = channelOf(found)
  const { terms } = order
  const shown = order.attempts.find(({ outpoint }) => outpoint !== null && outpoint === order.outpoint) ?? order.attempts.at(-1)
  const steps = await stepsOf(views, orderId, ['order', 'settlement', 'channel'])
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
    seller_pubkey: (shown?.candidate ?? terms.candidate).sellerPubkey,
    buyer_pubkey: terms.destination.pubkey,
    private: terms.isPrivate,
    statuses: order.statuses.map(({ status, at }) => ({ status, at: isoTime(at) })),
    attempts: order.attempts.map(attemptReport),
    hold: {
      status: hold?.status ?? null,
      payment_hash: hold?.paymentHash ?? null,
      expiry_height: hold?.expiryHeight ?? null,
      settled_at: time(hold?.settledAt),
      cancelled_at: time(hold?.cancelledAt),
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
    timeline: steps.map(({ category, type, at, data }) => ({ at: isoTime(at), stream: category, fact: type, data })),
  }
}

const attemptReport = ({ attempt, candidate, status, startedAt, openBefore, outpoint, reason }: AttemptView) => ({
  attempt,
  seller_pubkey: candidate.sellerPubkey,
  offer_id: candidate.offerId,
  status,
  started_at: isoTime(startedAt),
  open_before: time(openBefore),
  outpoint,
  reason,
})
