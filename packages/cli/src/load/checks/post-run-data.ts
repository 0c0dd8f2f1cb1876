import type { Json } from '../../json.ts'
import { refreshOrder } from '../orders/order-requests.ts'
import type { Drain } from './drain.ts'
import type { RunEnd } from '../orders/generator.ts'
import { isHeldPastLastHeight } from './hold-heights.ts'
import { sumLedgerAccountMsat } from './ledger.ts'
import { type LoadClock, sleepUntil } from '../load-clock.ts'
import { toKnownRequestError } from '../orders/order-scenario.ts'
import { getValueAt, type LoadMarket, type OperatorApi, getTextAt, formatValueAt } from '../market/load-market.ts'
import type { OmissionCounts } from '../measurements/coordinated-omission.ts'
import { isStatusEnded, isStatusSold, type LoadOrder, parseInvoiceMsat } from '../orders/load-order.ts'
import type { LoadTargets } from '../market/targets.ts'

/** The data about the orders that is collected after a run. A field is null if the run has no access or got no answer. */
export type PostRunData = {
  readonly orders: readonly LoadOrder[]
  readonly endedBy: RunEnd
  /** The user allows unfinished paid orders at the drain limit. */
  readonly isUnfinishedAllowed: boolean
  readonly due: OmissionData
  /** Whether every order was polled to its end. If not, unfinished orders are no fault. */
  readonly isComplete: boolean
  readonly now: number
  /** One sentence per request without an answer. */
  readonly missing: readonly string[]
  /** The operator's report of each order, by order id. */
  readonly reports: ReadonlyMap<string, Json> | null
  readonly audit: Json
  readonly parked: Json
  readonly network: {
    readonly before: Json
    readonly after: Json
    readonly height: number
    /** By payment hash: IN_FLIGHT, SUCCEEDED or FAILED. */
    readonly payments: ReadonlyMap<string, string>
    readonly marketAlias: string
  } | null
}

/** The counts of due orders and requests. `isShedAllowed`: the run passes although some of them were never sent. */
type OmissionData = OmissionCounts & { readonly isShedAllowed: boolean }

type CollectOptions = {
  readonly targets: LoadTargets
  readonly orders: readonly LoadOrder[]
  readonly before: Json
  readonly endedBy: RunEnd
  readonly isUnfinishedAllowed: boolean
  readonly due: OmissionData
  /** How long sellers may wait for their payouts, in milliseconds. */
  readonly payoutWaitMs: number
  readonly interrupt: AbortSignal
  readonly drain: Drain
  readonly clock: LoadClock
}

const CONCURRENCY = 8
const POLL_INTERVAL_MS = 500
const MAX_TRIES = 3
/** The time within which the market has to show the effect of a recent event. */
const VISIBLE_WITHIN_MS = 10_000

/** Collects as much data as the market returns. It retries a failed request, and stops when the market hangs. */
export async function collectPostRunData(market: LoadMarket, options: CollectOptions): Promise<PostRunData> {
  const { targets, orders, before, payoutWaitMs, interrupt, drain, clock, endedBy, isUnfinishedAllowed, due } = options
  const { operator } = market
  const missing = new Map<string, string>()
  const calls = { callWithRetries: createRetriedCall(drain, missing), signal: drain.signal, clock }
  const visibleBy = (): number => clock.monotonicMs() + VISIBLE_WITHIN_MS
  const unfinished = orders.filter(({ status }) => !isStatusEnded(status))
  const refresh = async (order: LoadOrder) =>
    void (await calls.callWithRetries(`order ${order.id}`, () => refreshOrder(market, order)))
  // The market may show a payment with a delay, so a paid order is polled until its status shows the payment.
  await pollWhileOpen(visibleBy(), calls, unfinished, refresh, ({ paid, status }) => paid !== null && status.endsWith('PAYMENT'))
  const isComplete = endedBy === 'itself' && !interrupt.aborted
  const reports = operator && openReportReader(operator, calls)
  // Sellers are paid some blocks after their channel is sold, so the reports are polled until then.
  await reports?.refresh(orders, clock.monotonicMs() + (isComplete ? payoutWaitMs : 0), isPayoutPending)
  if (reports) for (const order of orders) restorePayment(order, reports.byId.get(order.id) ?? null)
  const network = targets.simulation && (await readNetwork(targets.simulation.operator, calls, orders, reports))
  if (reports && network) {
    const isLate = (report: Json): boolean => isHeldPastLastHeight(report, network.height)
    const late = orders.filter(({ id }) => isLate(reports.byId.get(id) ?? null))
    await reports.refresh(late, visibleBy(), isLate)
  }
  const parked = operator && (await calls.callWithRetries('parked messages', () => operator('GET', '/parked')))
  const audit = operator && (await calls.callWithRetries('the audit', () => operator('POST', '/audit/verify', {})))
  const stopReason = drain.stopReason()
  return {
    orders,
    endedBy,
    isUnfinishedAllowed,
    due,
    isComplete,
    now: Date.now(),
    reports: reports && reports.byId,
    parked,
    audit,
    network: targets.simulation && network && { ...network, before, marketAlias: targets.simulation.marketAlias },
    missing: [
      ...(stopReason === null ? [] : [`the final checks were stopped: ${stopReason}`]),
      ...[...missing].map(([subject, requestError]) => `${subject}: ${requestError}`),
    ],
  }
}

/** Retries a call. It resolves to null after the last try, and records the failure as missing data. */
type RetriedCall = <T>(subject: string, call: () => Promise<T>) => Promise<T | null>
type CallContext = { readonly callWithRetries: RetriedCall; readonly signal: AbortSignal; readonly clock: LoadClock }

const createRetriedCall =
  (drain: Drain, missing: Map<string, string>): RetriedCall =>
  async (subject, call) => {
    for (let tries = MAX_TRIES; ; tries--) {
      try {
        const answer = await drain.call(call)
        missing.delete(subject)
        return answer
      } catch (error) {
        const { message } = toKnownRequestError(error)
        if (tries > 1 && drain.stopReason() === null) continue
        missing.set(subject, drain.stopReason() === null ? message : 'not answered')
        return null
      }
    }
  }

/** Checks every item, and then repeatedly the open items, until no item is open or the time is over. */
async function pollWhileOpen<T>(
  endsAt: number,
  { signal, clock }: CallContext,
  list: readonly T[],
  check: (item: T) => Promise<void>,
  isOpen: (item: T) => boolean,
): Promise<void> {
  let open = list
  do {
    await runConcurrently(open, check)
    open = open.filter(isOpen)
  } while (
    open.length > 0 &&
    clock.monotonicMs() < endsAt &&
    (await sleepUntil(clock, clock.monotonicMs() + POLL_INTERVAL_MS, signal))
  )
}

/** Reads the operator's reports of orders, and stores them by order id. */
function openReportReader(operator: OperatorApi, calls: CallContext) {
  const byId = new Map<string, Json>()
  const refreshOne = async ({ id }: LoadOrder): Promise<void> => {
    const report = await calls.callWithRetries(`the report of order ${id}`, () => operator('GET', `/orders/${id}`))
    if (report !== null) byId.set(id, report)
  }
  const refresh = (orders: readonly LoadOrder[], endsAt: number, isOpen: (report: Json) => boolean): Promise<void> =>
    pollWhileOpen(endsAt, calls, orders, refreshOne, ({ id }) => isOpen(byId.get(id) ?? null))
  return { byId, refresh }
}

/** Whether a payout is pending. A withheld payout does not count as pending, because it may take a week. */
function isPayoutPending(report: Json): boolean {
  if (!isStatusSold(formatValueAt(report, 'status'))) return false
  const state = formatValueAt(report, 'payout.state')
  // The report may show the payout's state before its ledger entry.
  return state === 'SUCCEEDED' ? sumLedgerAccountMsat(report, 'payable') !== 0n : state !== 'WITHHELD'
}

/** Restores a payment whose request got no answer, if the market's report shows that the payment arrived. */
function restorePayment(order: LoadOrder, report: Json): void {
  const hash = getValueAt(report, 'hold.payment_hash')
  const isSent = ['held', 'settling', 'settled', 'cancelling', 'cancelled'].includes(formatValueAt(report, 'hold.status'))
  if (!order.isPaymentUncertain || !isSent || typeof hash !== 'string' || order.invoice === null) return
  order.paid = { hash, amountMsat: parseInvoiceMsat(order.invoice) ?? 0n }
}

type ReportReader = ReturnType<typeof openReportReader>

/**
 * Reads the balances, and repeats that while a ledger changed during the read. If a withheld payout were released between the
 * reads of its report and of the balances, its amount would seem to have no ledger entry.
 */
async function readConsistentBalances(
  reports: ReportReader | null,
  operator: OperatorApi,
  calls: CallContext,
  orders: readonly LoadOrder[],
) {
  const ledgerOf = ({ id }: LoadOrder): string => JSON.stringify(getValueAt(reports?.byId.get(id) ?? null, 'ledger'))
  for (const end = calls.clock.monotonicMs() + VISIBLE_WITHIN_MS; ;) {
    const unpaid = orders.filter(({ id }) => formatValueAt(reports?.byId.get(id) ?? null, 'payout.state') !== 'SUCCEEDED')
    const before = unpaid.map(ledgerOf).join()
    const balances = await calls.callWithRetries('the balances', () => operator('GET', '/sim/balances'))
    await reports?.refresh(unpaid, 0, () => false)
    if (unpaid.map(ledgerOf).join() === before || calls.clock.monotonicMs() > end) return balances
  }
}

async function readNetwork(
  operator: OperatorApi,
  calls: CallContext,
  orders: readonly LoadOrder[],
  reports: ReportReader | null,
) {
  const { callWithRetries } = calls
  const payments = new Map<string, string>()
  await runConcurrently(orders, async ({ id, paid }) => {
    if (!paid) return
    const payment = await callWithRetries(`the payment of order ${id}`, () => operator('GET', `/sim/payments/${paid.hash}`))
    if (payment !== null) payments.set(paid.hash, getTextAt(payment, 'state'))
  })
  const after = await readConsistentBalances(reports, operator, calls, orders)
  // The operator's API returns the height only for a mined block.
  const mined = await callWithRetries('the height', () => operator('POST', '/sim/mine', { blocks: 1 }))
  const height = getValueAt(mined, 'height')
  return after === null || typeof height !== 'number' ? null : { after, height, payments }
}

async function runConcurrently<T>(list: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
  const queue = list.values()
  const worker = async (): Promise<void> => {
    for (const item of queue) await call(item)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
