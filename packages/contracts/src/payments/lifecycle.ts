import type { ReceiveFact } from './receive.ts'
import type { SendFact } from './send.ts'

/** The statuses of a transaction that its callers see. The last three are final. */
export const transactionStatuses = ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'] as const
export type TransactionStatus = (typeof transactionStatuses)[number]

/** The events of a transaction's timeline, which webhooks report under the same names. */
export const transactionEventTypes = ['payment.pending', 'payment.completed', 'payment.failed', 'payment.expired'] as const
export type TransactionEventType = (typeof transactionEventTypes)[number]

type FinalStatus = Exclude<TransactionStatus, 'PENDING'>
export type ReceiveStatus = 'REQUESTED' | 'PENDING' | 'CLOSING' | FinalStatus
/** DUPLICATE: another send of the wallet has the payment hash, and stands for this send. */
export type SendStatus = 'RESOLVING' | 'CLAIMING' | 'PENDING' | 'CLOSING' | FinalStatus | 'DUPLICATE'

type StatusRules<Status extends string, FactType extends string> = {
  /** The status that callers see; null for a transaction that they do not see. */
  readonly shownAs: TransactionStatus | null
  /** The facts that may follow, each with the status after it. A final status has none. */
  readonly on: Readonly<Partial<Record<FactType, Status>>>
}

/** The only fact with which a receive may begin. */
export const firstReceiveFact = { ReceiveRequested: 'REQUESTED' } as const satisfies StatusRules<
  ReceiveStatus,
  ReceiveFact['type']
>['on']

/** The only table of the statuses of a receive. */
export const receiveStatusRules: Readonly<Record<ReceiveStatus, StatusRules<ReceiveStatus, ReceiveFact['type']>>> = {
  REQUESTED: { shownAs: 'PENDING', on: { InvoiceIssued: 'PENDING' } },
  PENDING: {
    shownAs: 'PENDING',
    on: { ReceiveCompleted: 'COMPLETED', ReceiveFailed: 'FAILED', ReceiveExpiryReached: 'CLOSING' },
  },
  CLOSING: { shownAs: 'PENDING', on: { ReceiveExpired: 'EXPIRED' } },
  COMPLETED: { shownAs: 'COMPLETED', on: {} },
  FAILED: { shownAs: 'FAILED', on: {} },
  EXPIRED: { shownAs: 'EXPIRED', on: {} },
}

/** The only fact with which a send may begin. */
export const firstSendFact = { SendRequested: 'RESOLVING' } as const satisfies StatusRules<SendStatus, SendFact['type']>['on']

/** The only table of the statuses of a send. A send waits for its payment only after it has claimed the payment hash. */
export const sendStatusRules: Readonly<Record<SendStatus, StatusRules<SendStatus, SendFact['type']>>> = {
  RESOLVING: { shownAs: 'PENDING', on: { InvoiceResolved: 'CLAIMING' } },
  CLAIMING: { shownAs: 'PENDING', on: { HashClaimed: 'PENDING', HashTaken: 'DUPLICATE' } },
  PENDING: { shownAs: 'PENDING', on: { SendCompleted: 'COMPLETED', SendFailed: 'FAILED', SendExpiryReached: 'CLOSING' } },
  CLOSING: { shownAs: 'PENDING', on: { SendExpired: 'EXPIRED' } },
  COMPLETED: { shownAs: 'COMPLETED', on: {} },
  FAILED: { shownAs: 'FAILED', on: {} },
  EXPIRED: { shownAs: 'EXPIRED', on: {} },
  DUPLICATE: { shownAs: null, on: {} },
}

export type TransactionFactType = ReceiveFact['type'] | SendFact['type']

/** The status that callers see after a fact. Each type of fact always leads to the same status. */
const shownStatuses: ReadonlyMap<string, TransactionStatus | null> = new Map([
  ...Object.values({ NONE: { on: firstReceiveFact }, ...receiveStatusRules }).flatMap(({ on }) =>
    Object.entries(on).map(([type, status]) => [type, receiveStatusRules[status].shownAs] as const),
  ),
  ...Object.values({ NONE: { on: firstSendFact }, ...sendStatusRules }).flatMap(({ on }) =>
    Object.entries(on).map(([type, status]) => [type, sendStatusRules[status].shownAs] as const),
  ),
])

/** @returns the status that callers see after the fact; null if another send stands for this send */
export const findTransactionStatus = (type: TransactionFactType): TransactionStatus | null => shownStatuses.get(type) ?? null

const eventTypes: Readonly<Partial<Record<TransactionFactType, TransactionEventType>>> = {
  InvoiceIssued: 'payment.pending',
  HashClaimed: 'payment.pending',
  ReceiveCompleted: 'payment.completed',
  SendCompleted: 'payment.completed',
  ReceiveFailed: 'payment.failed',
  SendFailed: 'payment.failed',
  ReceiveExpired: 'payment.expired',
  SendExpired: 'payment.expired',
}

/** @returns the event with which the timeline shows the fact; undefined for a step that callers do not see */
export const findTransactionEventType = (type: TransactionFactType): TransactionEventType | undefined => eventTypes[type]
