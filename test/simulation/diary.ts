import type { Log } from '@penstock/runtime/log.ts'

/** What processes and people said, with when: the last of it to be printed with a failure. */
export type Diary = {
  logOf(process: string): Log
  note(text: string): void
  readonly recent: () => readonly string[]
  /** Lines that say that something was set aside which never should be. */
  readonly parked: readonly string[]
}

type Line = { readonly at: number; readonly who: string; readonly text: string; readonly fields: object }

const KEPT = 600
const PARKED = new Set(['a message is parked', 'a command is parked', 'a fact could not be handled at start; it will be parked'])

export function openDiary(now: () => number): Diary {
  const lines: Line[] = []
  const parked: string[] = []
  const write = (line: Line): void => {
    lines.push(line)
    if (lines.length > 2 * KEPT) lines.splice(0, KEPT)
    if (PARKED.has(line.text)) parked.push(shown(line))
  }
  const logOf = (who: string, always: object = {}): Log => {
    const say = (level: string) => (fields: object, text: string) =>
      write({ at: now(), who: `${level} ${who}`, text, fields: { ...always, ...fields } })
    return {
      debug: () => undefined,
      info: say('info '),
      warn: say('warn '),
      error: say('ERROR'),
      child: (fields) => logOf(who, { ...always, ...fields }),
    }
  }
  return {
    logOf: (process) => logOf(process),
    note: (text) => write({ at: now(), who: 'world', text, fields: {} }),
    recent: () => lines.slice(-KEPT).map(shown),
    parked,
  }
}

const shown = ({ at, who, text, fields }: Line): string =>
  `${at} ${who}: ${text}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`
