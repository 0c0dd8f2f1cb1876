import { Bug, Fault, assert } from '@penstock/kernel/result.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import type { Settlement } from '../state.ts'
import type { Outcome, SettlementEffectContext } from './ports.ts'
import { toRecordSettled } from './settle-hold-invoice.ts'

/** Timeout of a call. The effect runs again after a timeout, because both calls are safe to repeat. */
const ANSWER_TIMEOUT_MS = 30_000

/** Cancels the buyer's payment, or an unpaid invoice. Only the state that the node reports afterwards counts. */
export async function cancelHoldInvoice(
  { hold }: Settlement,
  { ports }: SettlementEffectContext,
): Promise<Outcome<'RecordCancelled' | 'RecordSettled'>> {
  const { request, status } = hold
  assert(request, 'a hold has terms')
  const { holds } = ports.lightning
  const outcome = await withTimeout(ports.clock, ANSWER_TIMEOUT_MS, holds.cancel(request.paymentHash))
  hitCrashPoint('settlement.cancel.before-look')
  const invoice = await withTimeout(ports.clock, ANSWER_TIMEOUT_MS, holds.find(request.paymentHash))
  // Our service may have recorded a missed settlement although the node has settled the payment. Then the hold is settled.
  if (invoice?.state === 'settled' && status === 'settling') return toRecordSettled(invoice, ports.clock.now())
  if (outcome === 'settled' || invoice?.state === 'settled')
    throw new Bug('the node shows a hold as settled that this service did not settle: its preimage has leaked')
  // An invoice that was never created needs no cancellation. If it is created later, it is recorded and this effect runs again.
  if (!invoice || invoice.state === 'cancelled')
    return { type: 'RecordCancelled', data: { at: ports.clock.now(), unmade: !invoice && !hold.invoice } }
  throw new Fault(`the node answered "${outcome}" and shows the invoice ${invoice.state}`)
}
