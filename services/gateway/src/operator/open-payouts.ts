import { isoTime } from '@penstock/kernel/time.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { HoldView } from '../market/views/hold-view.ts'
import { isInvoiceDue, getDueToBuyerMsat } from '../market/views/payout-due.ts'
import { isPayoutDueRow } from '../market/views/payout-due-row.ts'
import { withMarketTables } from '../market/views/tables.ts'
import { type Page, countTotal } from '../list-page.ts'

/**
 * Lists the open payouts, oldest order first, by an index of only these payouts. The gateway does not know the chain's height,
 * so the reader must compare the end heights with the current height.
 */
export async function listOpenPayouts(views: Pick<Views, 'db'>, page: Page) {
  const dueRows = withMarketTables(views).selectFrom('gateway_holds_v2').where(isPayoutDueRow)
  const rows = await dueRows.select(['order_id', 'view']).orderBy('order_id').limit(page.limit).offset(page.offset).execute()
  const total = await countTotal(page, rows.length, () =>
    dueRows.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  // The projection writes these texts from the same type.
  return { total, payouts: rows.map(({ order_id, view }) => toPayoutEntry(order_id, JSON.parse(view) as HoldView)) }
}

const formatTime = (at: number | null | undefined): string | null => (at === null || at === undefined ? null : isoTime(at))

function toPayoutEntry(order: string, hold: HoldView) {
  const { owed, payout } = hold
  return {
    order,
    amount_msat: owed.amountMsat,
    creditor: owed.creditor,
    state: readPayoutState(hold),
    since: formatTime(hold.settledAt ?? hold.cancelledAt),
    attempts: payout?.attempts ?? 0,
    retry_at: formatTime(payout?.retryAt),
    reason: payout?.reason ?? null,
    withheld: (payout?.withheld ?? []).map(({ cause, reason, untilHeight }) => ({ cause, until_height: untilHeight, reason })),
  }
}

/** Returns the payout's label of the metric `penstock_payables`, except 'loss_unconfirmed' for the label 'undecided'. */
function readPayoutState({ owed, payout }: HoldView): string {
  if (owed.isPaying) return 'paying'
  if (getDueToBuyerMsat(owed) !== undefined) return 'owed_to_buyer'
  const causes = payout?.withheld ?? []
  if (causes.some(({ cause }) => cause === 'operator-loss')) return 'loss_unconfirmed'
  if (causes.length > 0) return 'withheld'
  if (isInvoiceDue(owed)) return 'without_invoice'
  return payout?.state === 'FAILED' ? 'retrying' : 'confirming'
}
