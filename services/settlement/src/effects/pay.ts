import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { Wanted } from '@penstock/kernel/process.ts'
import { Fault, must } from '@penstock/kernel/result.ts'
import type { PaymentFailure, Payments, PaymentState } from '@penstock/ports/lightning.ts'
import { inTime } from '@penstock/ports/in-time.ts'
import { crashPoint } from '@penstock/runtime/crash-points.ts'
import { payableInvoice } from '../payout.decide.ts'
import type { Payout } from '../payout.ts'
import type { Settlement } from '../state.ts'
import { atItsNode } from './own-node.ts'
import type { Context } from './ports.ts'

const TIMEOUT_MS = 60_000
/** How old a look at the stream may be when money is sent by it. */
const LOOK_COUNTS_MS = 2000
/**
 * What was sent may come to the node so much later: a dead process's kernel sends again what an outage has swallowed. It goes
 * on for longer, ever more rarely, and lnd knows no "not after": this is a bound on what is likely, and no proof.
 */
const ON_THE_WAY_MS = 30_000
/** After which hardly anything comes to the node that was sent by a look at the stream from before this invoice was asked for. */
export const LOOKS_ARE_OVER_MS = LOOK_COUNTS_MS + ON_THE_WAY_MS

type Failed = Extract<Extract<SettlementCommand, { type: 'RecordPayout' }>['data'], { state: 'failed' }>

/**
 * Pays whoever is owed the amount. A payment that is under way or has succeeded is continued, never repeated. Only one that
 * is known to have failed, or was never begun, is begun.
 */
export async function pay(
  state: Settlement,
  { id, ports, stillAsked, signal }: Context,
): Promise<Wanted<SettlementCommand> | null> {
  const { hold, payout } = state
  const { paying } = payout
  must(paying, 'a payout was asked for')
  const { attempt, paymentHash, request, maxFeeMsat } = paying
  const { payments } = ports.lightning
  const before = await payments.find(paymentHash)
  if (before?.state === 'succeeded') return told(attempt, before)
  const fresh = before === undefined || before.state === 'failed'
  // Another invoice was given, and this one was never begun: that of the two which counts is asked for instead.
  const newest = payableInvoice(state)
  if (before === undefined && newest && newest.paymentHash !== paymentHash) return told(attempt, REPLACED)
  if (fresh && (decodePaymentRequest(request)?.expiresAt ?? 0) <= ports.clock.now())
    return told(attempt, { state: 'failed', reason: 'invoice-expired' })
  const others = otherHashes(payout, paymentHash)
  // One that was asked for before may be on its way to the node yet, by a replica that has not read that it failed, or that
  // is dead: the node would send it too, as one that has failed.
  // Nor does "under way" say that it ever was sent: a node that is slow to answer is taken to say so.
  // The first attempt of all has none before it: what other sellers gave was never asked for.
  if (others.length > 0 && attempt > 1) await ports.clock.sleep(LOOKS_ARE_OVER_MS, signal)
  if (signal.aborted) throw new Fault('the service stops')
  await atItsNode(ports, hold)
  const other = await paidOtherwise(payments, others)
  if (other) {
    ports.log.error({ order: id, paymentHash: other.paymentHash }, 'another invoice of this order was paid already')
    return told(attempt, other.payment, other.paymentHash)
  }
  crashPoint('settlement.pay.before-payment')
  // The node keeps a hash from being paid twice, but not a seller by two hashes: whoever stood still meanwhile looks anew,
  // and nothing stands between this look and the sending.
  const notAfter = ports.clock.monotonicMs() + LOOK_COUNTS_MS
  if (!(await stillAsked())) return null
  inTime(ports.clock, notAfter)
  return told(attempt, await payments.pay(request, { maxFeeMsat: BigInt(maxFeeMsat), timeoutMs: TIMEOUT_MS, notAfter }))
}

type Elsewhere = { readonly paymentHash: string; readonly payment: Extract<PaymentState, { state: 'succeeded' }> }

const otherHashes = ({ invoices }: Payout, wanted: string): readonly string[] =>
  Object.values(invoices).flatMap(({ fate, paymentHash }) => (fate === 'taken' && paymentHash !== wanted ? [paymentHash] : []))

/**
 * An earlier attempt at another invoice of this order that arrived after all.
 * @throws Fault while one may still arrive
 */
async function paidOtherwise(payments: Payments, others: readonly string[]): Promise<Elsewhere | undefined> {
  for (const paymentHash of others) {
    const payment = await payments.find(paymentHash)
    if (payment?.state === 'in-flight') throw new Fault('an earlier payout of this order is still under way')
    if (payment?.state === 'succeeded') return { paymentHash, payment }
  }
  return undefined
}

/**
 * @param paymentHash where it is that of another attempt
 * @throws Fault while the payment is under way: its outcome is looked for again
 */
function told(attempt: number, payment: PaymentState | typeof REPLACED, paymentHash?: string): Wanted<SettlementCommand> {
  switch (payment.state) {
    case 'succeeded': {
      const paid = { state: 'succeeded', attempt, feeMsat: `${payment.feeMsat}`, ...(paymentHash && { paymentHash }) } as const
      return { type: 'RecordPayout', data: paid }
    }
    case 'failed':
      return { type: 'RecordPayout', data: { state: 'failed', attempt, ...FAILURES[payment.reason] } }
    case 'in-flight':
      throw new Fault('the payout is still under way')
  }
}

const REPLACED = { state: 'failed', reason: 'replaced' } as const

const noRoute = (reason: string) => ({ status: 'NO_ROUTE', reason }) as const

const FAILURES: Readonly<Record<PaymentFailure | 'replaced', Pick<Failed, 'status' | 'reason'>>> = {
  'no-route': noRoute('No way to the node of the invoice was found.'),
  'insufficient-balance': noRoute('Our node cannot send so much now.'),
  timeout: noRoute('The payment did not arrive in time.'),
  'fee-limit': noRoute('Every way to the node of the invoice costs more than the fee limit.'),
  replaced: noRoute('Another invoice was given, and this one was never begun.'),
  refused: noRoute('Our node refuses to send to this invoice; another one may help.'),
  'rejected-by-destination': {
    status: 'PAYMENT_REJECTED_BY_DESTINATION',
    reason: 'The node of the invoice refused the payment; give another invoice.',
  },
  'invoice-expired': { status: 'SELLER_INVOICE_EXPIRED', reason: 'The invoice has expired; give another one.' },
}
