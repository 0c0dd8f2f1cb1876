import type { OrderFact, OrderTerms, ReleaseTo } from '@penstock/contracts/order.ts'
import { isFailure, isSale, type OrderStatus as PlacedStatus } from '@penstock/contracts/order/lifecycle.ts'
import type { SubmissionWindow } from '@penstock/bitcoin/submission-window.ts'
import type { AttestationData, Candidate } from '@penstock/contracts/shapes.ts'

export type OrderLifecycleStatus = 'NONE' | PlacedStatus

export type AttemptStatus = 'accepted' | 'opening' | 'named' | 'opened' | 'failed' | 'replaced'

/** The try of one seller to serve an order. `renewals` counts the requested renewals of its reservation. */
export type Attempt = {
  readonly number: number
  readonly candidate: Candidate
  readonly status: AttemptStatus
  readonly openBefore: number | null
  readonly renewals: number
  /** The accepted outpoints of the attempt, each once. */
  readonly outpoints: readonly string[]
  /** The submission window of the first outpoint. Null before that outpoint, or if a version without windows accepted it. */
  readonly window: SubmissionWindow | null
}

/**
 * A submitted outpoint that is not accepted yet. `number` counts the order's submissions. The names of the process steps contain
 * `number`, so that each submission has steps of its own.
 */
export type PendingOutpoint = {
  readonly number: number
  readonly attempt: number
  readonly outpoint: string
  readonly attestation: AttestationData | null
  /**
   * `renewing`: matching reserves the capacity again. `claiming`: channel-watcher checks the outpoint claim. `noting`: settlement
   * registers the outpoint.
   */
  readonly stage: 'renewing' | 'claiming' | 'noting'
}

export type AcceptedOutpoint = Omit<PendingOutpoint, 'stage'> & {
  /** The attestation came after the acceptance, so the watcher receives it in a command of its own. */
  readonly hasLateAttestation: boolean
  readonly confirmation: { readonly height: number; readonly channelId: string } | null
  /**
   * A defect that the watch found while a pending outpoint might still replace this outpoint.
   * `blamed`: the seller is at fault, and matching counts the failure against the seller.
   */
  readonly defect: { readonly reason: string; readonly blamed: boolean } | null
  /** How often the channel reached its confirmations; it may reach them again after a re-org. */
  readonly timesOpened: number
}

export type SubmittedPayoutInvoice = {
  readonly attempt: number
  readonly request: string
  readonly paymentHash: string
  readonly payee: string
  readonly amountMsat: bigint
  readonly expiresAt: number
  /** `superseded`: the attempt was started with another seller than the payee of the invoice. */
  readonly state: 'submitted' | 'accepted' | 'refused' | 'superseded'
  readonly reason: string | null
}

/**
 * The requested release of the buyer's payment, after which the order fails. `to`: the final status. `blamed`: the seller is at
 * fault. `by`: the operator that closed the order; null if the market decides.
 */
export type OrderClosing = {
  readonly to: ReleaseTo
  readonly reason: string
  readonly blamed: boolean
  readonly by: string | null
}
/**
 * The fact `Told` of earlier versions: another service has handled a message of the order. `key` distinguishes messages of one
 * kind.
 */
export type Acknowledgement = Extract<OrderFact, { type: 'Told' }>['data']

export type PlacedOrder = {
  readonly status: PlacedStatus
  /** The terms as they were recorded; other services receive them unchanged. */
  readonly terms: OrderTerms
  readonly approveBefore: number | null
  readonly hold: 'none' | 'asked' | 'issued' | 'held' | 'settling' | 'settled' | 'closed'
  readonly openBeforeHeight: number
  readonly heldAtHeight: number
  readonly attempts: readonly Attempt[]
  /** Number of reach checks of the buyer's node: one per attempt, and one per seller that cannot connect. */
  readonly reachChecks: number
  /** The attempt whose seller cannot connect to the buyer's node, while our own node tries. */
  readonly unreachableReport: number | null
  /** The highest attempt for which a seller was searched. */
  readonly lastSearch: number
  /** The search that found no seller. */
  readonly failedSearch: { readonly attempt: number; readonly reason: string } | null
  readonly outpointCount: number
  readonly pendingOutpoint: PendingOutpoint | null
  /** Outpoints that this order has claimed, with their attempts, so that none is claimed twice. */
  readonly claimedOutpoints: readonly string[]
  readonly rejectedOutpoints: readonly { readonly attempt: number; readonly outpoint: string; readonly reason: string }[]
  readonly outpoint: AcceptedOutpoint | null
  readonly closing: OrderClosing | null
  readonly endReason: string | null
  readonly payoutInvoices: readonly SubmittedPayoutInvoice[]
  /** The payout statuses that settlement reported, as `<what> <detail>`, such as `paid <detail>`. */
  readonly payoutStatuses: readonly string[]
  readonly acknowledged: readonly string[]
  /** The kinds of messages that came too late to change the order; each kind is recorded once. */
  readonly lateEvents: readonly string[]
}
export type Order = { readonly status: 'NONE' } | PlacedOrder

/** Whether the order ended without a channel. */
export const isFailed = ({ status }: Order): boolean => status !== 'NONE' && isFailure(status)
export const isValid = ({ status }: Order): boolean => status !== 'NONE' && isSale(status)
export const hasEnded = (order: Order): boolean => isFailed(order) || isValid(order)

/** A settling order can no longer be closed. */
export const isSettling = ({ hold }: PlacedOrder): boolean => hold === 'settling' || hold === 'settled'

const LIVE_STATUSES = new Set<AttemptStatus>(['accepted', 'opening', 'named', 'opened'])
export const findLiveAttempt = ({ attempts }: Pick<PlacedOrder, 'attempts'>): Attempt | undefined =>
  attempts.find(({ status }) => LIVE_STATUSES.has(status))
export const attemptOf = ({ attempts }: Pick<PlacedOrder, 'attempts'>, number: number): Attempt | undefined =>
  attempts[number - 1]

/** The most attempts under one payment: 1 for a manual order, which has one chosen offer. */
export const maxAttemptsOf = ({ terms }: PlacedOrder): number => (terms.source === 'manual' ? 1 : terms.policy.maxAttempts)

/** @returns the number of the attempt that needs a seller; undefined if the order needs none */
export function findPendingSearch(order: PlacedOrder): number | undefined {
  const mayStartAttempt = order.status === 'WAITING_FOR_BUYER_PAYMENT' || order.status === 'WAITING_FOR_CHANNEL_OPEN'
  const needsSeller = mayStartAttempt && order.hold === 'held' && !order.closing && !findLiveAttempt(order)
  return needsSeller && order.attempts.length < maxAttemptsOf(order) ? order.attempts.length + 1 : undefined
}

/** The seller of the live or latest attempt; before the first attempt the seller of the quote. */
export function currentSellerOf(order: PlacedOrder): { readonly attempt: number; readonly candidate: Candidate } {
  const attempt = findLiveAttempt(order) ?? order.attempts.at(-1)
  return attempt ? { attempt: attempt.number, candidate: attempt.candidate } : { attempt: 1, candidate: order.terms.candidate }
}

/** @returns the live attempt if it belongs to the account, otherwise the latest attempt of the account */
export const findAttemptBy = (order: PlacedOrder, accountId: string): Attempt | undefined => {
  const own = order.attempts.filter(({ candidate }) => candidate.sellerAccountId === accountId)
  return own.find(({ status }) => LIVE_STATUSES.has(status)) ?? own.at(-1)
}

/** Whether the account is a seller of the order, and so may know that the order exists. */
export const isSeller = (order: PlacedOrder, accountId: string): boolean =>
  order.attempts.length > 0 ? findAttemptBy(order, accountId) !== undefined : order.terms.candidate.sellerAccountId === accountId

export const outpointKeyOf = ({ attempt, outpoint }: { readonly attempt: number; readonly outpoint: string }): string =>
  `${attempt} ${outpoint}`

/** The acknowledgement that the watch of the accepted outpoint has ended. A recorded loss of the funding has the same effect. */
export const WATCH_STOPPED = 'watch-stopped 1'
export const acknowledgementKeyOf = ({ what, key }: Acknowledgement): string => `${what} ${key}`
