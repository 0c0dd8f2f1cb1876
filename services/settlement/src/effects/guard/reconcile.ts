import type { Invoice, PaymentState } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { ServiceJob } from '@penstock/runtime/service.ts'
import type { Hold } from '../../hold/hold.ts'
import type { SettlementPayout } from '../../payout/payout.ts'
import { type GuardState, refreshListedOrders, findUnknownHolds, rememberPaymentHash } from './guard-state.ts'
import type { SettlementPorts } from '../ports.ts'
import { type SettlementJobContext, loadSettlement } from '../stream-access.ts'

const ANSWER_TIMEOUT_MS = 10_000
const COMPARE_INTERVAL_MS = 60_000

/**
 * After a restore, compares the facts of each unfinished hold with the state at the node, and logs every difference.
 * It changes nothing; an operator decides when the market resumes.
 */
export const reconcileJob = (guardState: GuardState): ServiceJob<SettlementPorts> => ({
  name: 'reconcile',
  isReadOnly: true,
  async run(context, signal) {
    const { clock, config, log } = context.ports
    if (!config.restored) return
    while (!signal.aborted) {
      log.warn(await compareAll(context, guardState), 'the restored orders were compared with the node')
      await clock.sleep(COMPARE_INTERVAL_MS, signal)
    }
  },
})

type ReconcileSummary = {
  readonly orders: number
  readonly differences: number
  readonly lost: number
  readonly strangers: number
}

async function compareAll(context: SettlementJobContext, guardState: GuardState): Promise<ReconcileSummary> {
  const { clock, lightning, log } = context.ports
  await refreshListedOrders(context, guardState)
  let [differences, lost] = [0, 0]
  for (const orderId of guardState.listedOrders) {
    const state = await loadSettlement(context, orderId)
    rememberPaymentHash(guardState, orderId, state)
    const { request } = state.hold
    if (!request) continue
    const { paying } = state.payout
    const invoice = await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.find(request.paymentHash))
    const payment = paying ? await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.payments.find(paying.paymentHash)) : undefined
    const found = findDifference(state, invoice, payment)
    if (!found) continue
    differences += 1
    if (found.hasLostFacts) lost += 1
    log.error({ order: orderId, hold: state.hold.status, invoice: invoice?.state ?? 'unknown' }, found.sentence)
  }
  const held = await withTimeout(clock, ANSWER_TIMEOUT_MS, lightning.holds.held())
  const unknownHolds = findUnknownHolds(guardState, new Map(held.map((invoice) => [invoice.paymentHash, invoice])))
  for (const { paymentHash, amountMsat } of unknownHolds)
    log.error({ paymentHash, amountMsat: `${amountMsat}` }, 'the node holds a payment that matches no restored order')
  return { orders: guardState.listedOrders.length, differences, lost, strangers: guardState.unknownHolds.size }
}

/** `hasLostFacts`: the stores lack facts that the state of the node cannot restore. */
export type RestoreDifference = { readonly hasLostFacts: boolean; readonly sentence: string }

/** Statuses in which no payment can be settled yet, because `SettlementStarted` is recorded before a settlement. */
const UNSETTLED_STATUSES: readonly Hold['status'][] = ['requested', 'open', 'held', 'cancelling', 'cancelled']

export const isBehindNode = ({ status }: Pick<Hold, 'status'>, invoice: Pick<Invoice, 'state'>): boolean =>
  invoice.state === 'settled' && UNSETTLED_STATUSES.includes(status)

/** @returns undefined if the facts and the node agree */
export function findDifference(
  { hold, payout }: { readonly hold: Pick<Hold, 'status'>; readonly payout: Pick<SettlementPayout, 'paying'> },
  invoice: Pick<Invoice, 'state'> | undefined,
  payment: PaymentState | undefined,
): RestoreDifference | undefined {
  if (!invoice)
    return hold.status === 'requested'
      ? undefined
      : { hasLostFacts: true, sentence: 'the node has no invoice of this order: is it another node, or an older copy of it?' }
  if (isBehindNode(hold, invoice))
    return {
      hasLostFacts: true,
      sentence: 'the node has taken this payment, and the facts that say so are missing: restore a later copy',
    }
  if (invoice.state === 'cancelled' && hold.status !== 'cancelled')
    return { hasLostFacts: false, sentence: 'the node has cancelled this payment; this is recorded when the market resumes' }
  if (invoice.state === 'held' && hold.status === 'open')
    return { hasLostFacts: false, sentence: 'the payment has arrived; this is recorded when the market resumes' }
  if (payout.paying && payment?.state === 'succeeded')
    return { hasLostFacts: false, sentence: 'the seller has been paid; this is recorded when the market resumes' }
  return undefined
}
