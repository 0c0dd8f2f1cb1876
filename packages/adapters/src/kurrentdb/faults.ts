import { AccessDeniedError, MaxAppendSizeExceededError, NotLeaderError, StreamDeletedError } from '@kurrent/kurrentdb-client'
import { Bug, Fault } from '@penstock/kernel/result.ts'

export const NEVER_GIVEN =
  'a position was asked for that this KurrentDB never gave out: the tables are of another store; restore both from one backup'

/** @param position of an event that was seen; @param end of the log's last event, undefined where the log is empty */
export const beyondEnd = (position: bigint, end: bigint | undefined): Bug =>
  new Bug(
    `position ${position} is beyond the end of the log of KurrentDB, ${end ?? 'which is empty'}: the store is older than the ` +
      'tables; stop everything, and restore the tables from a backup that is not newer than the store',
  )

/** Another node is the leader; the client goes there by itself. */
export const isElsewhere = (fault: unknown): boolean => fault instanceof Fault && fault.cause instanceof NotLeaderError

/** What was asked, of whom: `method` as in "a read of order-1", `server` as hosts without credentials. */
export type Asked = { readonly method: string; readonly server: string }

/** Errors of the half that reads have the name of their class in place of a text. */
export const hasText = (error: unknown): boolean =>
  error instanceof Error && error.message !== '' && error.message !== error.constructor.name

/**
 * @param cause what is known beside the error
 * @returns a Bug for what the server will refuse whenever it is asked, else a Fault: everything that is not known is
 * tried again, since a repeated append is recognised by its ids
 */
export function asFault(error: unknown, { method, server }: Asked, cause?: string): unknown {
  if (error instanceof Fault || error instanceof Bug) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof StreamDeletedError) return new Bug(`the stream ${error.streamName} was deleted`, { cause: error })
  if (error instanceof MaxAppendSizeExceededError)
    return new Bug(`KurrentDB takes ${error.maxAppendSize} bytes in one append; raise its MaxAppendSize`, { cause: error })
  if (/invalid position/i.test(message)) return new Bug(NEVER_GIVEN, { cause: error })
  if (error instanceof AccessDeniedError || /access denied/i.test(message))
    return new Fault(
      `KurrentDB at ${server} refuses ${method}: the user or the password is wrong, or the user is neither in $admins nor has rights on $all and our streams`,
      { cause: error },
    )
  if (error instanceof NotLeaderError)
    return new Fault(`KurrentDB at ${server} refuses ${method}: this node is not the leader`, { cause: error })
  const why = cause ?? (hasText(error) ? message : `${message || 'no reason was given'}`)
  return new Fault(`KurrentDB at ${server} did not carry out ${method}: ${why}`, { cause: error })
}
