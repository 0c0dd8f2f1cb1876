/** Instants are milliseconds since 1970, durations say their unit in their name. */
export const SECOND_MS = 1000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** What Bitcoin aims at; windows are turned into blocks at this pace. */
export const BLOCK_SECONDS = 600

/** `YYYY-MM-DDThh:mm:ss.sssZ`, the form of every time that leaves the service. */
export const isoTime = (at: number): string => new Date(at).toISOString()

/** @returns the blocks that a window takes at ten minutes a block, rounded up */
export const blocksOf = (windowMs: number): number => Math.ceil(windowMs / (BLOCK_SECONDS * SECOND_MS))
