import { Bug } from '@penstock/kernel/result.ts'

/** SQLite's result codes for a file whose pages, or whose header, are not what it wrote. */
const CORRUPT = 11
const NOT_A_DATABASE = 26

export const DAMAGED = 'the file is damaged, or no database of a market'

/** Whether SQLite, or its binding, says that the file has what it would never have written. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error &&
  (('errcode' in error && typeof error.errcode === 'number' && [CORRUPT, NOT_A_DATABASE].includes(error.errcode & 0xff)) ||
    ('code' in error && error.code === 'ERR_OUT_OF_RANGE'))

/** @throws Bug where the file is damaged: to try again is no use */
export function unlessDamaged<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw isDamage(error) ? new Bug(DAMAGED, { cause: error }) : error
  }
}
