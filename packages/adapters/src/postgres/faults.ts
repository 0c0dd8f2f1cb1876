import { Fault } from '@penstock/kernel/result.ts'

/** Classes and codes of SQLSTATE after which the same call may succeed later. */
const RETRYABLE_STATES = [
  '08', // the connection
  '40', // serialization failures and deadlocks
  '53', // no connections, memory or disk left
  '58', // the operating system below the server
  '57014', // a statement took too long, or an operator cancelled it
  '57P', // the server shuts down, starts, or ended the session
  '55P03', // a lock was not available in time
  '25006', // a standby, because another server is the primary now
  '25P03', // a transaction was idle for too long
  '25P04', // a transaction lasted too long
]

/** Messages with the remedy, for errors that last until an operator acts. */
const REMEDIES: Readonly<Record<string, string>> = {
  '53300': 'PostgreSQL takes no more connections: raise max_connections, or lower PENSTOCK_POSTGRES_CONNECTIONS',
  '53100': 'the disk of PostgreSQL is full',
  '28P01': 'PostgreSQL refuses the user or the password',
  '28000': 'PostgreSQL refuses the user',
  '3D000': 'the database does not exist',
  '25006': 'this PostgreSQL is a standby and cannot be written to',
}

/** @returns the SQLSTATE of a server error; undefined for an error of the driver or the network */
export const sqlStateOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : undefined

/** Whether the server itself has answered. Otherwise the outcome of the statement is unknown. */
export const isServerAnswer = (error: unknown): boolean =>
  sqlStateOf(error) !== undefined && !/^(08|57P)/.test(String(sqlStateOf(error)))

/**
 * Whether a prepared statement has other columns than when it was prepared, because a newer release has migrated the table. The
 * connection would refuse it for ever, and a new connection prepares it anew.
 */
export const isOutdatedPlan = (error: unknown): boolean =>
  error instanceof Error && 'routine' in error && error.routine === 'RevalidateCachedQuery'

/** @returns a Fault for an error that may pass; an error about the content of a statement is returned unchanged */
export function toPostgresFault(error: unknown): unknown {
  if (error instanceof Fault) return error
  const state = sqlStateOf(error)
  const message = error instanceof Error ? error.message : String(error)
  if (isOutdatedPlan(error)) return new Fault(`PostgreSQL: ${message}`, { cause: error })
  if (state === undefined) return new Fault(`PostgreSQL cannot be reached: ${message}`, { cause: error })
  const sentence = REMEDIES[state]
  if (sentence !== undefined) return new Fault(`${sentence} (${message})`, { cause: error })
  if (RETRYABLE_STATES.some((prefix) => state.startsWith(prefix)))
    return new Fault(`PostgreSQL: ${message} (${state})`, { cause: error })
  return error
}
