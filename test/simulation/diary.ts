import type { SeededBus } from '@penstock/adapters/seeded/bus.ts'
import type { Log } from '@penstock/runtime/log.ts'

/** What processes and people said, with when: the last of it to be printed with a failure. */
export type Diary = {
  logOf(process: string): Log
  note(text: string): void
  readonly recent: () => readonly string[]
  /** What was ever set aside, as the bus itself has it: no wording of a log decides. */
  readonly parked: readonly string[]
}

type Line = { readonly at: number; readonly who: string; readonly text: string; readonly fields: object }

const KEPT = 600

export function openDiary(now: () => number, { parkings }: Pick<SeededBus, 'parkings'>): Diary {
  const lines: Line[] = []
  const write = (line: Line): void => {
    lines.push(line)
    if (lines.length > 2 * KEPT) lines.splice(0, KEPT)
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
    get parked() {
      return parkings().map(({ group, topic, key, reason }) => `${group} has set ${key} of ${topic} aside: ${reason}`)
    },
  }
}

const shown = ({ at, who, text, fields }: Line): string =>
  `${at} ${who}: ${text}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`
