import { AccessDeniedError, MaxAppendSizeExceededError, NotLeaderError, StreamDeletedError } from '@kurrent/kurrentdb-client'
import { Bug, Fault } from '@penstock/kernel/result.ts'

export const UNKNOWN_POSITION =
  'this KurrentDB does not know a requested position: the tables belong to another store; restore both from one backup'

/** @param position of a known event @param end position of the last event of the log; undefined if the log is empty */
export const createBeyondEndBug = (position: bigint, end: bigint | undefined): Bug =>
  new Bug(
    `position ${position} is beyond the end of the log of KurrentDB, ${end ?? 'which is empty'}: the store is older than the ` +
      'tables; stop everything, and restore the tables from a backup that is not newer than the store',
  )

/** Whether another node is the leader. The client connects to that node by itself. */
export const isNotLeader = (fault: unknown): boolean => fault instanceof Fault && fault.cause instanceof NotLeaderError

/** The call that failed: `method` as in "a read of order-1", `server` as hosts without credentials. */
export type KurrentCall = { readonly method: string; readonly server: string }

/** Whether an error has a message. The message of a read error may be only the name of its class. */
export const hasText = (error: unknown): boolean =>
  error instanceof Error && error.message !== '' && error.message !== error.constructor.name

/**
 * @param cause the reason, if it is known apart from the error
 * @returns a Bug for a request that the server will always refuse, otherwise a Fault. Callers retry after a Fault, also for
 * unknown errors, since a repeated append is recognised by its event ids
 */
export function toKurrentFault(error: unknown, { method, server }: KurrentCall, cause?: string): unknown {
  if (error instanceof Fault || error instanceof Bug) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof StreamDeletedError) return new Bug(`the stream ${error.streamName} was deleted`, { cause: error })
  if (error instanceof MaxAppendSizeExceededError)
    return new Bug(`KurrentDB accepts ${error.maxAppendSize} bytes per append; raise its MaxAppendSize`, { cause: error })
  if (/invalid position/i.test(message)) return new Bug(UNKNOWN_POSITION, { cause: error })
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
