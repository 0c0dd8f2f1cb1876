import { isoTime } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { Page } from '../input.ts'
import type { HoldView } from '../views/hold-view.ts'
import { isInvoiceDue, owedToBuyerMsat } from '../views/owed.ts'
import { isOwingRow } from '../views/owing.ts'
import { tablesOf } from '../views/tables.ts'
import { totalOf } from './orders.ts'

/**
 * Payouts that are not made yet, the oldest order first; an index holds these alone. Only settlement knows the height of the
 * chain: whether an end height has passed is for the reader to compare.
 */
export async function openPayouts(views: Pick<Views, 'db'>, page: Page) {
  const owing = tablesOf(views).selectFrom('gateway_holds_v2').where(isOwingRow)
  const rows = await owing.select(['order_id', 'view']).orderBy('order_id').limit(page.limit).offset(page.offset).execute()
  const total = await totalOf(page, rows.length, () =>
    owing.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  // The texts are written by the projection from this very type.
  return { total, payouts: rows.map(({ order_id, view }) => payoutEntry(order_id, JSON.parse(view) as HoldView)) }
}

const time = (at: number | null | undefined): string | null => (at === null || at === undefined ? null : isoTime(at))

function payoutEntry(order: string, hold: HoldView) {
  const { owed, payout } = hold
  return {
    order,
    amount_msat: owed.amountMsat,
    creditor: owed.creditor,
    state: stateOf(hold),
    since: time(hold.settledAt ?? hold.cancelledAt),
    attempts: payout?.attempts ?? 0,
    retry_at: time(payout?.retryAt),
    reason: payout?.reason ?? null,
    withheld: (payout?.withheld ?? []).map(({ cause, reason, untilHeight }) => ({ cause, until_height: untilHeight, reason })),
  }
}

/** What it waits for, in the words of the metric `penstock_payables`; an unconfirmed loss is one of those undecided. */
function stateOf({ owed, payout }: HoldView): string {
  if (owed.isPaying) return 'paying'
  if (owedToBuyerMsat(owed) !== undefined) return 'owed_to_buyer'
  const causes = payout?.withheld ?? []
  if (causes.some(({ cause }) => cause === 'operator-loss')) return 'loss_unconfirmed'
  if (causes.length > 0) return 'withheld'
  if (isInvoiceDue(owed)) return 'without_invoice'
  return payout?.state === 'FAILED' ? 'retrying' : 'confirming'
}
