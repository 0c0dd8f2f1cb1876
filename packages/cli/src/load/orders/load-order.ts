import { isFailure, isSale, phaseOf } from '@penstock/contracts/order/lifecycle.ts'
import type { OrderKind } from './mix.ts'

/** The progress of an order, as its buyer sees it. */
export const LOAD_ORDER_STAGES = ['ordered', 'held', 'opening', 'settled'] as const
export type LoadOrderStage = (typeof LOAD_ORDER_STAGES)[number]

export type SentPayment = { readonly hash: string; readonly amountMsat: bigint }

/** One order of the run, updated with each observation. */
export type LoadOrder = {
  readonly id: string
  readonly kind: OrderKind
  /** The buyer's bearer token; null for LSPS1, where the order's id is the only credential. */
  readonly bearer: string | null
  readonly lspType: string | null
  invoice: string | null
  /** The status as the API writes it; for LSPS1 the order state and the payment state, with a space between them. */
  status: string
  /** The deadline of the current status as the market gives it; null if it gives none. */
  timeout: string | null
  stage: LoadOrderStage
  paid: SentPayment | null
  /** A payment was requested, and its answer is missing. */
  isPaymentUncertain: boolean
}

export const isStatusSold = (status: string): boolean => isSale(status) || status === 'COMPLETED PAID'
export const isStatusEnded = (status: string): boolean =>
  isStatusSold(status) || isFailure(status) || status.endsWith(' REFUNDED')

/** @param status of GraphQL, or the two states of LSPS1; @returns undefined for a status that belongs to no stage */
export function toOrderStage(status: string): LoadOrderStage | undefined {
  if (isStatusSold(status)) return 'settled'
  if (phaseOf(status) === 'funding' || status === 'COMPLETED HOLD') return 'opening'
  if (phaseOf(status) === 'opening' || status === 'CREATED HOLD') return 'held'
  return undefined
}

/** Whether the buyer's payment was sent, or the status shows it. */
export const isLoadOrderPaid = ({ paid, status }: Pick<LoadOrder, 'paid' | 'status'>): boolean =>
  paid !== null || toOrderStage(status) !== undefined

/** The party that an unfinished order waits for; undefined if the status names none. */
export function findAwaitedParty({ status }: Pick<LoadOrder, 'status'>): string | undefined {
  if (phaseOf(status) === 'approval') return 'the seller, to accept'
  if (phaseOf(status) === 'payment' || status === 'CREATED EXPECT_PAYMENT') return 'the buyer, to pay'
  if (phaseOf(status) === 'opening' || status === 'CREATED HOLD') return 'the seller, to open'
  if (phaseOf(status) === 'funding' || status === 'COMPLETED HOLD') return 'the chain, to confirm'
  return undefined
}

const MSAT_PER_UNIT = { '': 100_000_000_000n, m: 100_000_000n, u: 100_000n, n: 100n } as const

/** The amount in the human-readable part of an invoice (BOLT 11). @returns null if it has none, or a fraction of a msat */
export function parseInvoiceMsat(invoice: string): bigint | null {
  const [, digits, unit] = /^ln(?:bcrt|tbs|tb|sb|bc)(\d+)([munp]?)1/.exec(invoice.toLowerCase()) ?? []
  if (digits === undefined || unit === undefined) return null
  if (unit === 'p') return BigInt(digits) % 10n === 0n ? BigInt(digits) / 10n : null
  return BigInt(digits) * (unit === 'm' || unit === 'u' || unit === 'n' ? MSAT_PER_UNIT[unit] : MSAT_PER_UNIT[''])
}
