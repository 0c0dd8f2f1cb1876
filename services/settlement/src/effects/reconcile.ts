import type { Invoice, PaymentState } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'
import type { Job } from '@penstock/runtime/service.ts'
import type { Hold } from '../hold.ts'
import type { Payout } from '../payout.ts'
import { type Custody, listAnew, notOurs, remember } from './custody.ts'
import type { SettlementPorts } from './ports.ts'
import { type Jobs, stateOf } from './record.ts'

const ANSWER_TIMEOUT_MS = 10_000
const LOOK_EVERY_MS = 60_000

/**
 * After a restore: compares what the facts say of each unfinished hold with what the node shows, and tells every difference.
 * It changes nothing; an operator decides when the market goes on.
 */
export const reconcileJob = (custody: Custody): Job<SettlementPorts> => ({
  name: 'reconcile',
  looksOnly: true,
  async run(context, signal) {
    const { clock, config, log } = context.ports
    if (!config.restored) return
    while (!signal.aborted) {
      log.warn(await compareAll(context, custody), 'the restored orders were compared with the node')
      await clock.sleep(LOOK_EVERY_MS, signal)
    }
  },
})

type Compared = { readonly orders: number; readonly differences: number; readonly lost: number; readonly strangers: number }

async function compareAll(context: Jobs, custody: Custody): Promise<Compared> {
  const { clock, lightning, log } = context.ports
  await listAnew(context, custody)
  let [differences, lost] = [0, 0]
  for (const orderId of custody.listed) {
    const state = await stateOf(context, orderId)
    remember(custody, orderId, state)
    const { request } = state.hold
    if (!request) continue
    const { paying } = state.payout
    const invoice = await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(request.paymentHash))
    const payment = paying ? await within(clock, ANSWER_TIMEOUT_MS, lightning.payments.find(paying.paymentHash)) : undefined
    const found = differenceOf(state, invoice, payment)
    if (!found) continue
    differences += 1
    if (found.lost) lost += 1
    log.error({ order: orderId, hold: state.hold.status, invoice: invoice?.state ?? 'unknown' }, found.sentence)
  }
  const held = await within(clock, ANSWER_TIMEOUT_MS, lightning.holds.held())
  const strangers = notOurs(custody, new Map(held.map((invoice) => [invoice.paymentHash, invoice])))
  for (const { paymentHash, amountMsat } of strangers)
    log.error({ paymentHash, amountMsat: `${amountMsat}` }, 'the node holds a payment of no order that was restored')
  return { orders: custody.listed.length, differences, lost, strangers: custody.strangers.size }
}

/** `lost`: facts are missing that no look at the node brings back. */
export type Difference = { readonly lost: boolean; readonly sentence: string }

/** Before these a payment is settled only after a fact has said so. */
const UNSETTLED: readonly Hold['status'][] = ['requested', 'open', 'held', 'cancelling', 'cancelled']

export const isBehind = ({ status }: Pick<Hold, 'status'>, invoice: Pick<Invoice, 'state'>): boolean =>
  invoice.state === 'settled' && UNSETTLED.includes(status)

/** @returns undefined where the facts and the node agree */
export function differenceOf(
  { hold, payout }: { readonly hold: Pick<Hold, 'status'>; readonly payout: Pick<Payout, 'paying'> },
  invoice: Pick<Invoice, 'state'> | undefined,
  payment: PaymentState | undefined,
): Difference | undefined {
  if (!invoice)
    return hold.status === 'requested'
      ? undefined
      : { lost: true, sentence: 'the node knows no invoice of this order: is it another node, or an older copy of it?' }
  if (isBehind(hold, invoice))
    return {
      lost: true,
      sentence: 'the node has taken this payment, and the facts that say so are missing: restore a later copy',
    }
  if (invoice.state === 'cancelled' && hold.status !== 'cancelled')
    return { lost: false, sentence: 'the node has given this payment back; it is recorded when the market goes on' }
  if (invoice.state === 'held' && hold.status === 'open')
    return { lost: false, sentence: 'the payment has arrived; it is recorded when the market goes on' }
  if (payout.paying && payment?.state === 'succeeded')
    return { lost: false, sentence: 'the seller has been paid; it is recorded when the market goes on' }
  return undefined
}
