import { Fault } from '@penstock/kernel/result.ts'

/** Classes and codes of SQLSTATE after which the same call may succeed later. */
const PASSING = [
  '08', // the connection
  '40', // serialization failures and deadlocks
  '53', // no connections, memory or disk left
  '58', // the machine below the server
  '57014', // a statement took too long, or an operator cancelled it
  '57P', // the server shuts down, starts, or ended the session
  '55P03', // a lock was not had in time
  '25006', // a standby: the server that writes has moved
  '25P03', // a transaction stood still for too long
  '25P04', // or lasted too long
]

/** What a reader should do about those that do not pass by themselves. */
const SENTENCES: Readonly<Record<string, string>> = {
  '53300': 'PostgreSQL takes no more connections: raise max_connections, or lower PENSTOCK_POSTGRES_CONNECTIONS',
  '53100': 'the disk of PostgreSQL is full',
  '28P01': 'PostgreSQL refuses the user or the password',
  '28000': 'PostgreSQL refuses the user',
  '3D000': 'the database does not exist',
  '25006': 'this PostgreSQL is a standby and cannot be written to',
}

/** @returns the SQLSTATE of a server's error; undefined where the error is the driver's or the network's */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code)
    ? error.code
    : undefined

/** Whether the server itself has answered: without that it is not known what became of the statement. */
export const isAnswer = (error: unknown): boolean => sqlState(error) !== undefined && !/^(08|57P)/.test(String(sqlState(error)))

/** @returns a Fault for what may pass; what the server refuses for its content is given back as it is */
export function asFault(error: unknown): unknown {
  if (error instanceof Fault) return error
  const state = sqlState(error)
  const message = error instanceof Error ? error.message : String(error)
  if (state === undefined) return new Fault(`PostgreSQL cannot be reached: ${message}`, { cause: error })
  const sentence = SENTENCES[state]
  if (sentence !== undefined) return new Fault(`${sentence} (${message})`, { cause: error })
  if (PASSING.some((prefix) => state.startsWith(prefix))) return new Fault(`PostgreSQL: ${message} (${state})`, { cause: error })
  return error
}
