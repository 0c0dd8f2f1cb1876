import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { Bug, assert } from '@penstock/kernel/result.ts'
import { hitCrashPoint } from '@penstock/runtime/crash-points.ts'
import type { Settlement } from '../state.ts'
import type { Outcome, SettlementEffectContext } from './ports.ts'
import { connectToBuyer, PURCHASE_REACH_TIMEOUT_MS } from './connect-to-buyer.ts'

/** Creates the hold invoice if the buyer's node is reached. HoldRequested fixes the hash, so a repeated run finds the invoice. */
export async function issueHoldInvoice(
  { hold: { request } }: Settlement,
  { ports }: SettlementEffectContext,
): Promise<Outcome<'RecordIssued' | 'RecordReach'>> {
  assert(request, 'an invoice has terms')
  const { holds } = ports.lightning
  const { paymentHash, cltvDelta, expirySeconds, description, amountMsat } = request
  const existing = await holds.find(paymentHash)
  if (existing) return toRecordIssued(existing.request)
  const outcome = await connectToBuyer(ports, request.destination, PURCHASE_REACH_TIMEOUT_MS)
  if (!outcome.reached) return { type: 'RecordReach', data: { attempt: 0, ...outcome } }
  hitCrashPoint('settlement.issue.before-invoice')
  const invoice = await holds.create({ paymentHash, amountMsat, cltvDelta, expirySeconds, description })
  return toRecordIssued(invoice.request)
}

function toRecordIssued(request: string): Outcome<'RecordIssued'> {
  const decoded = decodePaymentRequest(request)
  if (!decoded) throw new Bug('the node created an invoice that cannot be decoded')
  return { type: 'RecordIssued', data: { invoice: request, expiresAt: decoded.expiresAt } }
}
