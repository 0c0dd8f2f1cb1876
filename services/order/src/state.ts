import type { OrderFact, OrderTerms, ReleaseTo } from '@penstock/contracts/order.ts'
import { isFailure, isSale, type OrderStatus as PlacedStatus } from '@penstock/kernel/order-status.ts'
import type { NamingWindow } from '@penstock/bitcoin/naming-window.ts'
import type { Attestation, Candidate } from '@penstock/contracts/shapes.ts'

export type OrderStatus = 'NONE' | PlacedStatus

export type AttemptStatus = 'accepted' | 'opening' | 'named' | 'opened' | 'failed' | 'replaced'

/** One seller's turn. `rereserved` counts how often its capacity was asked for again. */
export type Attempt = {
  readonly number: number
  readonly candidate: Candidate
  readonly status: AttemptStatus
  readonly openBefore: number | null
  readonly rereserved: number
  /** Its outpoints that were accepted, each once. */
  readonly outpoints: readonly string[]
  /** Counts from the first of them; null before it, and where a version that kept none accepted it. */
  readonly window: NamingWindow | null
}

/** An outpoint on its way to being named. `number` counts the offers of the order, so that each is asked about once. */
export type Offered = {
  readonly number: number
  readonly attempt: number
  readonly outpoint: string
  readonly attestation: Attestation | null
  readonly stage: 'rereserving' | 'claiming' | 'noting'
}

export type Named = Omit<Offered, 'stage'> & {
  /** The attestation came after the naming: the watcher is told of it by itself. */
  readonly isAttestedSince: boolean
  readonly confirmed: { readonly height: number; readonly channelId: string } | null
  /** What its watch has found, while another outpoint was being recorded that may take its place. */
  readonly wrong: { readonly reason: string; readonly blamed: boolean } | null
  /** How often the channel reached its confirmations: a re-org makes it start again. */
  readonly openings: number
}

export type Payout = {
  readonly attempt: number
  readonly request: string
  readonly paymentHash: string
  readonly payee: string
  readonly amountMsat: bigint
  readonly expiresAt: number
  /** `superseded`: another seller had the turn that it was given for. */
  readonly state: 'offered' | 'taken' | 'refused' | 'superseded'
  readonly reason: string | null
}

export type Closing = { readonly to: ReleaseTo; readonly reason: string; readonly blamed: boolean; readonly by: string | null }
export type Told = Extract<OrderFact, { type: 'Told' }>['data']

export type Placed = {
  readonly status: PlacedStatus
  /** As they were recorded: they are handed on to other services as they are. */
  readonly terms: OrderTerms
  readonly approveBefore: number | null
  readonly hold: 'none' | 'asked' | 'issued' | 'held' | 'settling' | 'settled' | 'closed'
  readonly openBeforeHeight: number
  readonly heldAtHeight: number
  readonly attempts: readonly Attempt[]
  /** How often our node was asked to try the buyer's: before each attempt, and when a seller cannot connect. */
  readonly looks: number
  /** The attempt whose seller cannot connect to the buyer's node, while our own tries it. */
  readonly reported: number | null
  /** The highest attempt for which a seller was ever looked for. */
  readonly searched: number
  /** The search that found nobody. */
  readonly unmatched: { readonly attempt: number; readonly reason: string } | null
  readonly offers: number
  readonly offered: Offered | null
  /** Outpoints that are this order's, by attempt: a claim is asked for once. */
  readonly claims: readonly string[]
  readonly refused: readonly { readonly attempt: number; readonly outpoint: string; readonly reason: string }[]
  readonly named: Named | null
  readonly closing: Closing | null
  readonly ending: string | null
  readonly payouts: readonly Payout[]
  readonly payoutNews: readonly string[]
  readonly told: readonly string[]
  readonly late: readonly string[]
}
export type Order = { readonly status: 'NONE' } | Placed

/** Ended without a channel. */
export const isFailed = ({ status }: Order): boolean => status !== 'NONE' && isFailure(status)
export const isValid = ({ status }: Order): boolean => status !== 'NONE' && isSale(status)
export const isEnded = (order: Order): boolean => isFailed(order) || isValid(order)

/** From here on nothing can close the order. */
export const isSettling = ({ hold }: Placed): boolean => hold === 'settling' || hold === 'settled'

const LIVE = new Set<AttemptStatus>(['accepted', 'opening', 'named', 'opened'])
export const liveAttempt = ({ attempts }: Pick<Placed, 'attempts'>): Attempt | undefined =>
  attempts.find(({ status }) => LIVE.has(status))
export const attemptOf = ({ attempts }: Pick<Placed, 'attempts'>, number: number): Attempt | undefined => attempts[number - 1]

/** Sellers that may be tried under one payment: an order on a named offer has one. */
export const mostAttempts = ({ terms }: Placed): number => (terms.source === 'manual' ? 1 : terms.policy.maxAttempts)

/** @returns the attempt for which a seller is being looked for, if the order needs one */
export function searching(order: Placed): number | undefined {
  const open = order.status === 'WAITING_FOR_BUYER_PAYMENT' || order.status === 'WAITING_FOR_CHANNEL_OPEN'
  const free = open && order.hold === 'held' && !order.closing && !liveAttempt(order)
  return free && order.attempts.length < mostAttempts(order) ? order.attempts.length + 1 : undefined
}

/** The seller that an order would be, or is, served by: before the payment the one that the buyer was shown. */
export function sellerNow(order: Placed): { readonly attempt: number; readonly candidate: Candidate } {
  const attempt = liveAttempt(order) ?? order.attempts.at(-1)
  return attempt ? { attempt: attempt.number, candidate: attempt.candidate } : { attempt: 1, candidate: order.terms.candidate }
}

/** @returns the attempt of this account: the one under way if it is its own, else its latest */
export const attemptBy = (order: Placed, accountId: string): Attempt | undefined => {
  const own = order.attempts.filter(({ candidate }) => candidate.sellerAccountId === accountId)
  return own.find(({ status }) => LIVE.has(status)) ?? own.at(-1)
}

/** Who may know that the order exists, as far as selling goes. */
export const isSeller = (order: Placed, accountId: string): boolean =>
  order.attempts.length > 0 ? attemptBy(order, accountId) !== undefined : order.terms.candidate.sellerAccountId === accountId

export const outpointKey = ({ attempt, outpoint }: { readonly attempt: number; readonly outpoint: string }): string =>
  `${attempt} ${outpoint}`

export const WATCH_STOPPED = 'watch-stopped 1'
export const toldKey = ({ what, key }: Told): string => `${what} ${key}`
