import { pino } from 'pino'
import { type RepeatedLines, repeatedLines } from './repeated-lines.ts'

/** Structured log lines. Every line about an order carries `order`; lines of one message's way carry `trace`. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
  child(fields: object): Log
}

/**
 * JSON lines on standard error, so that standard output stays free for what a person asked for. What fails again and again
 * is told once an outage.
 * @param level a pino level; 'silent' for tests
 */
export const openLog = (level: string): Log =>
  withoutRepetition(
    pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        redact: { paths: ['*.preimage', '*.secret', '*.password', '*.authorization', '*.session_key'] },
      },
      pino.destination(2),
    ),
    repeatedLines(() => performance.now()),
  )

/** The same log without lines that were told before, its children too. */
export function withoutRepetition(log: Log, lines: RepeatedLines, bound: object = {}): Log {
  const tell =
    (level: 'warn' | 'error') =>
    (fields: object, text: string): void => {
      const more = lines(bound, fields, text)
      if (more) log[level]({ ...fields, ...more }, text)
    }
  return {
    debug: (fields, text) => log.debug(fields, text),
    info: (fields, text) => log.info(fields, text),
    warn: tell('warn'),
    error: tell('error'),
    child: (fields) => withoutRepetition(log.child(fields), lines, { ...bound, ...fields }),
  }
}
