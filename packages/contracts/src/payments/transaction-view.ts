import type { ReceiveFact } from './receive.ts'
import type { SendFact } from './send.ts'
import type { FailureReason, RecordedRate } from './shapes.ts'

/** The end of a completed transaction. `amount` is in base units of the wallet's asset. */
type Settlement = {
  readonly amount: string
  readonly amountMsat: string
  /** Null for a receive, which has no fee. */
  readonly feeMsat: string | null
  readonly at: number
  readonly rate: RecordedRate
}

/** A transaction, folded from the facts of its stream. */
export type TransactionView = {
  readonly direction: 'RECEIVE' | 'SEND'
  readonly walletId: string
  readonly environmentId: string
  readonly teamId: string
  readonly assetId: string
  readonly amount: string
  /** Null until the invoice of a send is known. */
  readonly amountMsat: string | null
  readonly textRecord: string
  readonly fingerprint: string
  readonly rate: RecordedRate
  readonly paymentHash: string | null
  readonly expiresAt: number | null
  /** The time of the outcome that the caller of a sandbox chose; null if the transaction expires. */
  readonly outcomeAt: number | null
  /** Whether the send still waits for the claim of its payment hash. */
  readonly isClaiming: boolean
  /** The send that stands for this send, because it has the same payment hash. */
  readonly duplicateOf: string | null
  readonly settlement: Settlement | null
  readonly failure: FailureReason | null
  readonly createdAt: number
  readonly updatedAt: number
}

type TransactionFact = ReceiveFact | SendFact
type RequestFact = Extract<TransactionFact, { readonly type: 'ReceiveRequested' | 'SendRequested' }>

/** Begins the view of a transaction with its first fact. @param at the time of the fact, in milliseconds since 1970 */
export function createTransactionView({ type, data }: RequestFact, at: number): TransactionView {
  const { walletId, environmentId, teamId, assetId, amount, textRecord, fingerprint, rate, outcomeAt } = data
  return {
    direction: type === 'ReceiveRequested' ? 'RECEIVE' : 'SEND',
    walletId,
    environmentId,
    teamId,
    assetId,
    amount,
    amountMsat: type === 'ReceiveRequested' ? data.amountMsat : null,
    textRecord,
    fingerprint,
    rate,
    paymentHash: type === 'ReceiveRequested' ? data.paymentHash : null,
    expiresAt: null,
    outcomeAt,
    isClaiming: type === 'SendRequested',
    duplicateOf: null,
    settlement: null,
    failure: null,
    createdAt: at,
    updatedAt: at,
  }
}

/** Applies a later fact to the view of a transaction. */
export const evolveTransactionView = (
  view: TransactionView,
  fact: Exclude<TransactionFact, RequestFact>,
  at: number,
): TransactionView => ({ ...view, ...findChanges(fact), updatedAt: at })

function findChanges({ type, data }: Exclude<TransactionFact, RequestFact>): Partial<TransactionView> {
  switch (type) {
    case 'InvoiceIssued':
      return { expiresAt: data.expiresAt }
    case 'InvoiceResolved':
      return { paymentHash: data.paymentHash, amountMsat: data.amountMsat, expiresAt: data.expiresAt }
    case 'HashClaimed':
      return { isClaiming: false }
    case 'HashTaken':
      return { isClaiming: false, duplicateOf: data.ofSendId }
    case 'ReceiveCompleted':
    case 'SendCompleted': {
      const { amount, amountMsat, settledAt, rate } = data
      return { settlement: { amount, amountMsat, feeMsat: 'feeMsat' in data ? data.feeMsat : null, at: settledAt, rate } }
    }
    case 'ReceiveFailed':
    case 'SendFailed':
      return { failure: data.reason }
    case 'ReceiveExpiryReached':
    case 'ReceiveExpired':
    case 'SendExpiryReached':
    case 'SendExpired':
      return {}
  }
}

/** The time by which a transaction ends: its outcome in the sandbox, or its expiry. Null until the expiry is known. */
export const findEnd = ({ outcomeAt, expiresAt }: Pick<TransactionView, 'outcomeAt' | 'expiresAt'>): number | null =>
  expiresAt === null ? null : Math.min(outcomeAt ?? expiresAt, expiresAt)
