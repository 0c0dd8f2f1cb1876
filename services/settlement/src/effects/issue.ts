import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Bug, must } from '@penstock/kernel/result.ts'
import { crashPoint } from '@penstock/runtime/crash-points.ts'
import type { Settlement } from '../state.ts'
import type { Context } from './ports.ts'
import { lookForBuyer } from './reach.ts'

/** Makes the hold invoice, once the buyer's node was reached. The hash was fixed by the intent, so a repetition finds its own. */
export async function issue({ hold: { request } }: Settlement, { ports }: Context): Promise<Wanted<SettlementCommand>> {
  must(request, 'an invoice has terms')
  const { holds } = ports.lightning
  const { paymentHash, cltvDelta, expirySeconds, description, amountMsat } = request
  const made = await holds.find(paymentHash)
  if (made) return issued(made.request)
  const look = await lookForBuyer(ports, request.destination)
  if (!look.reached) return { type: 'RecordReach', data: { attempt: 0, ...look } }
  crashPoint('settlement.issue.before-invoice')
  const invoice = await holds.create({ paymentHash, amountMsat, cltvDelta, expirySeconds, description })
  return issued(invoice.request)
}

function issued(request: string): Wanted<SettlementCommand> {
  const decoded = decodePaymentRequest(request)
  if (!decoded) throw new Bug('the node made an invoice that cannot be read')
  return { type: 'RecordIssued', data: { invoice: request, expiresAt: decoded.expiresAt } }
}
