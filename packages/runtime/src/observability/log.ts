import { pino } from 'pino'
import { openPrettyStream } from './pretty-log.ts'
import { type RepeatFilter, createRepeatFilter } from './repeat-filter.ts'

/** Writes structured log lines. A line about an order has the field `order`, and a line about a message has `trace`. */
export type Logger = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
  child(fields: object): Logger
}

/** `auto` selects text on a terminal, else JSON. */
export type LogFormat = 'auto' | 'json' | 'text'

export const isHumanReadable = (format: LogFormat, { isTTY }: { readonly isTTY?: boolean }): boolean =>
  format === 'text' || (format === 'auto' && isTTY === true)

/**
 * Opens a log on standard error, because standard output is for the output that a person requested. A repeated failure is
 * logged once per outage.
 * @param level a pino level; 'silent' for tests
 */
export const openLogger = (level: string, format: LogFormat = 'auto'): Logger =>
  suppressRepeats(
    pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        redact: { paths: ['*.preimage', '*.secret', '*.password', '*.authorization', '*.session_key'] },
      },
      isHumanReadable(format, process.stderr) ? openPrettyStream(2, process.stderr.isTTY) : pino.destination(2),
    ),
    createRepeatFilter(() => performance.now()),
  )

/** Wraps a log and its children so that repeated warnings and errors are omitted. */
export function suppressRepeats(log: Logger, filter: RepeatFilter, bound: object = {}): Logger {
  const logUnlessRepeated =
    (level: 'warn' | 'error') =>
    (fields: object, text: string): void => {
      const repeatFields = filter(bound, fields, text)
      if (repeatFields) log[level]({ ...fields, ...repeatFields }, text)
    }
  return {
    debug: (fields, text) => log.debug(fields, text),
    info: (fields, text) => log.info(fields, text),
    warn: logUnlessRepeated('warn'),
    error: logUnlessRepeated('error'),
    child: (fields) => suppressRepeats(log.child(fields), filter, { ...bound, ...fields }),
  }
}
