import { pino } from 'pino'

/** Structured log lines. Every line about an order carries `order`; lines of one message's way carry `trace`. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
  child(fields: object): Log
}

/**
 * JSON lines on standard error, so that standard output stays free for what a person asked for.
 * @param level a pino level; 'silent' for tests
 */
export const openLog = (level: string): Log =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: ['*.preimage', '*.secret', '*.password', '*.authorization', '*.session_key'] },
    },
    pino.destination(2),
  )
