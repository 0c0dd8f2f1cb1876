import { command } from '@penstock/kernel/process.ts'
import { runWithLowPriority } from '@penstock/runtime/commands/low-priority.ts'
import { isFailure } from '@penstock/contracts/order/lifecycle.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { QuoteCommand, QuoteTarget } from '@penstock/contracts/quote.ts'
import { toWallClock } from '@penstock/kernel/deadline.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { SECOND_MS } from '@penstock/kernel/time.ts'
import { READ_ONLY_ANSWER } from '../../commands/commands.ts'
import type { Gateway } from '../../ports.ts'
import { isRecentlyDeleted, findNodeOwner } from '../../account/read/accounts.ts'
import { findStoredOrder, type StoredOrder } from '../read/orders.ts'
import { findDestinationFault } from './destination.ts'
import { releaseQuota, withdrawExcessOrders, claimQuota } from './order-quota.ts'
import { withdrawOrder, withdrawWhenPlaced } from './withdraw-order.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'

/** A request to buy: the data of RequestQuote without `invoiceBefore`, which this file adds. */
export type QuoteRequest = Omit<Extract<QuoteCommand, { type: 'RequestQuote' }>['data'], 'invoiceBefore'>

/** Only LSPS1 requests these terms, so other purchases leave them null. */
export const noLspTerms = {
  sellers: null,
  leaseBlocks: null,
  requiredConfirmations: null,
  fundingConfirmsWithinBlocks: null,
  lsps: null,
} satisfies Partial<QuoteRequest>

/** A fault in the form of the caller's interface. */
type CallerFault = { readonly fault: unknown }

export type PlaceOrderRequest<Refusal extends CallerFault = never> = {
  readonly orderId: string
  /** Runs after the admission, so that a purchase that a busy market refuses reads and stores nothing. */
  readonly prepare: () => Promise<QuoteRequest | Refusal>
  /** The caller's address, for the limits. */
  readonly ip: string
  /** Whether the order has reached the state that the caller waits for. */
  readonly isReady: (found: StoredOrder) => boolean
}

export type PlaceOrderResult =
  | { readonly outcome: 'ready'; readonly stored: StoredOrder }
  /** A service or a limit refused the order before it existed, or the order is withdrawn because its account was deleted. */
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  /** The order ended before it was ready. */
  | { readonly outcome: 'ended'; readonly stored: StoredOrder }
  /** The order was not ready in time. The gateway withdraws it, but the order may exist for a while. */
  | { readonly outcome: 'withdrawn' }
  /** The market is at its limit, and the gateway sent no command. */
  | { readonly outcome: 'busy'; readonly seconds: number }

const ACCOUNT_DELETED = {
  outcome: 'refused',
  code: 'ACCOUNT_DELETED',
  message: 'This account was deleted meanwhile, and the order is withdrawn. Nothing has to be paid.',
} as const

/** An operator has to make space. */
const NO_SPACE_RETRY_SECONDS = 60

/** Time for the last check, which begins at the deadline of the answer. */
const LAST_CHECK_MS = SECOND_MS

/** Whether `placeOrder` refuses every order as busy now. */
export const isMarketBusy = ({ admission, hasSpaceForOrders }: Gateway): boolean => !hasSpaceForOrders() || admission.isFull()

type FoundOutcome = Exclude<PlaceOrderResult, { outcome: 'withdrawn' | 'busy' }>

/**
 * Requests a quote for the given order id, once the market admits the purchase. Then waits until the read model has an order for
 * which `isReady` is true. An order that is not ready in time is withdrawn. If this process crashes during the wait, the unpaid
 * order expires.
 */
export function placeOrder(gateway: Gateway, request: PlaceOrderRequest): Promise<PlaceOrderResult>
export function placeOrder<Refusal extends CallerFault>(
  gateway: Gateway,
  request: PlaceOrderRequest<Refusal>,
): Promise<PlaceOrderResult | Refusal>
export async function placeOrder(
  gateway: Gateway,
  request: PlaceOrderRequest<CallerFault>,
): Promise<PlaceOrderResult | CallerFault> {
  if (gateway.config.restored) return READ_ONLY_ANSWER
  if (!gateway.hasSpaceForOrders()) return { outcome: 'busy', seconds: NO_SPACE_RETRY_SECONDS }
  const entry = gateway.admission.enter()
  if ('busyForSeconds' in entry) return { outcome: 'busy', seconds: entry.busyForSeconds }
  const { admitted } = entry
  let outcome: PlaceOrderResult['outcome'] | 'failed' | undefined
  try {
    const until = getAnswerDeadline(gateway)
    const quoteRequest = await request.prepare()
    if ('fault' in quoteRequest) return quoteRequest
    const result = await place(gateway, { ...request, quoteRequest, until })
    outcome = result.outcome
    if (outcome === 'refused' && quoteRequest.record) await gateway.records.delete(quoteRequest.record.id)
    return result
  } catch (error) {
    // A database or a bus that does not answer in time is a sign of load.
    if (error instanceof Fault) outcome = 'failed'
    throw error
  } finally {
    if (outcome === 'ready') admitted.reportReady()
    else if (outcome === 'withdrawn' || outcome === 'failed') admitted.reportLate()
    else admitted.reportRefused()
  }
}

type PreparedRequest = Omit<PlaceOrderRequest, 'prepare'> & { readonly quoteRequest: QuoteRequest; readonly until: number }

async function place(gateway: Gateway, request: PreparedRequest): Promise<PlaceOrderResult> {
  const { orderId, quoteRequest, ip, until } = request
  const refusal = await findDestinationFault(gateway, quoteRequest.destination)
  if (refusal !== undefined) return { outcome: 'refused', code: 'ADDRESS_NOT_PUBLIC', message: refusal }
  const { pubkey } = quoteRequest.destination
  const owner = await findNodeOwner(gateway.views, pubkey)
  const ownerId = owner?.account_id === quoteRequest.buyer.accountId ? owner.account_id : undefined
  const claim = { orderId, ip, destination: pubkey, ownerId }
  // Claims for one node wait for each other, and each occupies a connection meanwhile.
  const limitMessage = await runWithLowPriority(() => claimQuota(gateway, claim))
  if (limitMessage !== undefined) return { outcome: 'refused', code: 'TOO_MANY_ORDERS', message: limitMessage }
  const commandId = gateway.ids.uuid()
  const notAfter = toWallClock(gateway.clock, until)
  const ask = command<QuoteTarget>('quote', orderId, { type: 'RequestQuote', data: { ...quoteRequest, invoiceBefore: notAfter } })
  const sent = gateway.send(ask, { commandId, correlation: orderId, notAfter })
  const found = await waitForOutcome(gateway, { ...request, commandId, ownerId }, sent)
  return found ?? withdrawLateOrder(gateway, orderId, commandId)
}

type SentRequest = PreparedRequest & { readonly commandId: string; readonly ownerId: string | undefined }

/** Waits for the outcome of a sent request. The order may exist by now, so a fault counts as a missing answer. */
async function waitForOutcome(gateway: Gateway, request: SentRequest, sending: Promise<void>): Promise<FoundOutcome | undefined> {
  const { clock, waiters, log } = gateway
  const { orderId, commandId, until } = request
  let lastFault: Fault | undefined
  const ignoreFault = (error: unknown): undefined => {
    if (!(error instanceof Fault)) throw error
    lastFault = error
  }
  const check = () => {
    const timeoutMs = Math.max(until - clock.monotonicMs(), LAST_CHECK_MS)
    return withTimeout(clock, timeoutMs, completeOutcome(gateway, request)).catch(ignoreFault)
  }
  const found = await waiters.wait(check, [orderId, commandId], until, { sent: sending.catch(ignoreFault) })
  const fields = { order: orderId, ...(lastFault && { reason: String(lastFault) }) }
  if (!found) log.warn(fields, 'an order was not ready in time; withdrawing it')
  return found
}

/** Finds the outcome, and changes other orders and the quota as it requires. May run again after a fault. */
async function completeOutcome(gateway: Gateway, request: SentRequest): Promise<FoundOutcome | undefined> {
  const { orderId, ownerId, quoteRequest } = request
  const found = await findOutcome(gateway, request)
  if (found?.outcome === 'refused') await releaseQuota(gateway.views, orderId)
  if (found?.outcome !== 'ready') return found
  // Orders of other accounts are withdrawn only for an order that exists. A request that no seller can serve must not end them.
  if (ownerId !== undefined) await withdrawExcessOrders(gateway, quoteRequest.destination.pubkey, ownerId)
  // Purchase and deletion each check after the read models contain their own fact, so at least one finds the other's fact.
  if (!(await isRecentlyDeleted(gateway.views, quoteRequest.buyer.accountId))) return found
  await withdrawOrder(gateway, orderId, ACCOUNT_DELETED.message)
  return ACCOUNT_DELETED
}

async function findOutcome(gateway: Gateway, { orderId, isReady, commandId }: SentRequest): Promise<FoundOutcome | undefined> {
  const stored = await findStoredOrder(gateway.views, orderId)
  if (!stored) {
    const answer = await gateway.commands.findAnswer(commandId)
    return answer?.outcome === 'refused' ? answer : undefined
  }
  if (isFailure(stored.order.status)) return { outcome: 'ended', stored }
  return isReady(stored) ? { outcome: 'ready', stored } : undefined
}

function withdrawLateOrder(gateway: Gateway, orderId: string, quoteCommandId: string): PlaceOrderResult {
  const reason = `It was not ready within ${gateway.config.buyAnswerSeconds} s.`
  const findStatus = async () => (await findStoredOrder(gateway.views, orderId))?.order.status
  const release = () => releaseQuota(gateway.views, orderId)
  withdrawWhenPlaced(gateway, { orderId, quoteCommandId, reason, findStatus, releaseQuota: release })
  return { outcome: 'withdrawn' }
}
