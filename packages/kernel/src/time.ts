/** Instants are in milliseconds since 1970; the name of a duration ends in its unit. */
export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Bitcoin's target for the time between two blocks. Time windows are converted to blocks at this rate. */
export const BLOCK_SECONDS = 600

/** Formats a timestamp as `YYYY-MM-DDThh:mm:ss.sssZ`, the format of every timestamp that leaves the service. */
export const isoTime = (at: number): string => new Date(at).toISOString()

/** @returns the length of a time window in blocks of ten minutes, rounded up */
export const toBlocks = (windowMs: number): number => Math.ceil(windowMs / (BLOCK_SECONDS * SECOND_MS))
