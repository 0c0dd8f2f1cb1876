import { Bug } from '@penstock/kernel/result.ts'

/** Result codes of SQLite for a file with invalid pages, and for a file with an invalid header. */
const CORRUPT = 11
const NOT_A_DATABASE = 26

export const DAMAGED_MESSAGE = 'the file is damaged, or it is not the database of a market'

/** Whether SQLite or its Node binding reports content that SQLite would never have written. */
export const isDamageError = (error: unknown): boolean =>
  error instanceof Error &&
  (('errcode' in error && typeof error.errcode === 'number' && [CORRUPT, NOT_A_DATABASE].includes(error.errcode & 0xff)) ||
    ('code' in error && error.code === 'ERR_OUT_OF_RANGE'))

/** @throws Bug if the file is damaged, because a retry cannot succeed */
export function withDamageCheck<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isDamageError(error) ? new Bug(DAMAGED_MESSAGE, { cause: error }) : error
  }
}
