import { Fault } from '@penstock/kernel/result.ts'

/** Result codes of SQLite after which the same call may succeed later. */
const BUSY = 5
const IO_ERROR = 10
const FULL = 13

const SENTENCES = new Map([
  [BUSY, 'another process writes to the database'],
  [IO_ERROR, 'the file of the database cannot be read or written'],
  [FULL, 'the disk of the database is full'],
])

/** @returns a Fault for an error that may pass, such as a full disk; another error is returned unchanged */
export function toSqliteFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return error
  // The lowest byte is the primary code of an extended one.
  const sentence = SENTENCES.get(error.errcode & 0xff)
  return sentence === undefined ? error : new Fault(`${sentence}: ${error.message}`, { cause: error })
}

/** Calls a function of SQLite. @throws Fault if the call may succeed later */
export function withSqliteFaults<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw toSqliteFault(error)
  }
}
