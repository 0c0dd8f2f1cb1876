import { AccessDeniedError, MaxAppendSizeExceededError, NotLeaderError, StreamDeletedError } from '@kurrent/kurrentdb-client'
import { Bug, Fault } from '@penstock/kernel/result.ts'

/** Another node is the leader; the client goes there by itself. */
export const isElsewhere = (fault: unknown): boolean => fault instanceof Fault && fault.cause instanceof NotLeaderError

/**
 * @returns a Bug for what the server will refuse whenever it is asked, else a Fault: everything that is not known is
 * tried again, since a repeated append is recognised by its ids
 */
export function asFault(error: unknown): unknown {
  if (error instanceof Fault || error instanceof Bug) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof StreamDeletedError) return new Bug(`the stream ${error.streamName} was deleted`, { cause: error })
  if (error instanceof MaxAppendSizeExceededError)
    return new Bug(`KurrentDB takes ${error.maxAppendSize} bytes in one append; raise its MaxAppendSize`, { cause: error })
  if (/invalid position/i.test(message))
    return new Bug('a position was asked for that this KurrentDB never gave out', { cause: error })
  if (error instanceof AccessDeniedError || /access denied/i.test(message))
    return new Fault(`KurrentDB refuses the user or the password, or what the user may do (${message})`, { cause: error })
  if (error instanceof NotLeaderError) return new Fault('this node of KurrentDB is not the leader', { cause: error })
  return new Fault(`KurrentDB: ${message}`, { cause: error })
}
