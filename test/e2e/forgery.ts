import type { EventRow } from './audit-store.ts'

/** Patterns of the audit's findings in a rewritten stream, by the check that reports them. */
export const FINDING_PATTERNS = {
  heads: /were others at .*, and were written anew$/,
  // At the end of a stream, the heads report the change first.
  append: /^the last event of its append has no state hash$|, and were written anew$/,
  fold: /^the facts fold to another state than the one that was hashed$/,
  either: /./,
} as const

/** A change of one event. `tells` names the check that reports the change: the log heads alone, or a check of the stream. */
export type Forgery = {
  readonly member: string
  readonly reportedBy: keyof typeof FINDING_PATTERNS
  /** Selects the events that can be changed in this way; by default all events. */
  readonly of?: (row: EventRow) => boolean
  readonly change: (meta: Record<string, unknown>, row: EventRow) => unknown
}
export const hasState = ({ meta }: EventRow): boolean => meta.includes('"state":')
