import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Bug, Fault, must } from '@penstock/kernel/result.ts'
import { within } from '@penstock/ports/within.ts'
import { crashPoint } from '@penstock/runtime/crash-points.ts'
import type { Settlement } from '../state.ts'
import type { Context } from './ports.ts'
import { taken } from './settle.ts'

/** A call that is cut off is made again: both can be repeated. */
const ANSWER_TIMEOUT_MS = 30_000

/** Gives the buyer's money back, or ends an invoice before it is paid. It counts when the node shows it. */
export async function cancel({ hold }: Settlement, { ports }: Context): Promise<Wanted<SettlementCommand>> {
  const { request, status } = hold
  must(request, 'a hold has terms')
  const { holds } = ports.lightning
  const outcome = await within(ports.clock, ANSWER_TIMEOUT_MS, holds.cancel(request.paymentHash))
  crashPoint('settlement.cancel.before-look')
  const invoice = await within(ports.clock, ANSWER_TIMEOUT_MS, holds.find(request.paymentHash))
  // What was to be settled may have been, before it was too late: then the payment is taken.
  if (invoice?.state === 'settled' && status === 'settling') return taken(invoice, ports.clock.now())
  if (outcome === 'settled' || invoice?.state === 'settled')
    throw new Bug('a hold that nobody settled is settled at the node: somebody else has its preimage')
  // An invoice that was never made needs no cancelling; should it be made after all, it is noted and comes here again.
  if (!invoice || invoice.state === 'cancelled')
    return { type: 'RecordCancelled', data: { at: ports.clock.now(), unmade: !invoice && !hold.invoice } }
  throw new Fault(`the node answered "${outcome}" and shows the invoice ${invoice.state}`)
}
