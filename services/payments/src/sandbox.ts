import type { RecordedRate } from '@penstock/contracts/payments/shapes.ts'

/** The data that enrichment adds to a request for a transaction. */
export type RequestEnrichment = {
  /** The dollar rate that is valid now; null if no fresh rate is known. */
  readonly rate: RecordedRate
  /** The time of the outcome that the caller chose; null if the transaction expires. */
  readonly outcomeAt: number | null
  /** Whether the wallet or its environment is deleted. */
  readonly isDeleted: boolean
}

/** The rate that is valid when the sandbox ends a transaction. */
export type OutcomeEnrichment = { readonly rate: RecordedRate }

/** The times at which a transaction that waits for its payment can end. */
export type EndTimes = { readonly outcomeAt: number | null; readonly expiresAt: number }

type EndCommand =
  | { readonly type: 'RecordSandboxOutcome'; readonly data: { readonly outcomeAt: number } }
  | { readonly type: 'RecordExpiryReached'; readonly data: { readonly expiresAt: number } }

/**
 * The one deadline of a waiting transaction. The outcome that the caller chose is certain: it comes at the expiry if it is due
 * later. Only a transaction without a chosen outcome expires.
 */
export const findNextEnd = ({ outcomeAt, expiresAt }: EndTimes): { readonly at: number; readonly command: EndCommand } =>
  outcomeAt === null
    ? { at: expiresAt, command: { type: 'RecordExpiryReached', data: { expiresAt } } }
    : { at: Math.min(outcomeAt, expiresAt), command: { type: 'RecordSandboxOutcome', data: { outcomeAt } } }

/** Whether the command names the deadline that the transaction waits for. A stale command names another one. */
export const isNextEnd = ({ outcomeAt, expiresAt }: EndTimes, { type, data }: EndCommand): boolean =>
  type === 'RecordSandboxOutcome' ? data.outcomeAt === outcomeAt : outcomeAt === null && data.expiresAt === expiresAt
