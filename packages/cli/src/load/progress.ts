import type { Second } from './drive.ts'

const PLAIN_EVERY = 5
/** A line that says the same again is printed this often, to show that the run still waits. */
const SAME_EVERY = 30
const RATE_OVER = 5
/** Clears what the line had on it. */
const AGAIN = '\r\x1b[K'

export type Progress = {
  readonly show: (second: Second) => void
  /** Leaves a terminal's line, so that what is printed next begins on its own. */
  readonly end: () => void
}

type Options = {
  readonly write: (text: string) => void
  readonly ratePerSecond: number
  /** How many columns the terminal has; undefined: it is none, and gets a line every few seconds. */
  readonly columns: number | undefined
}

/** How a run goes, once a second on one line of a terminal, or in plain lines for a log. */
export function openProgress({ write, ratePerSecond, columns }: Options): Progress {
  const seconds: Second[] = []
  let said = ''
  let saidAt = 0
  return {
    show(second) {
      seconds.push(second)
      const before = seconds.at(-1 - RATE_OVER)
      const line = progressLine(second, before, ratePerSecond)
      if (columns !== undefined) write(`${AGAIN}${line.slice(0, columns - 1)}`)
      if (columns !== undefined || seconds.length % PLAIN_EVERY > 0) return
      const news = line.slice(line.indexOf('|'))
      if (news === said && seconds.length - saidAt < SAME_EVERY) return
      said = news
      saidAt = seconds.length
      write(`${line}\n`)
    },
    end: () => void (columns !== undefined && write(AGAIN)),
  }
}

function progressLine(second: Second, before: Second | undefined, ratePerSecond: number): string {
  const { atMs, arrived, placed, inFlight, shed, held, unasked } = second
  const sinceMs = atMs - (before?.atMs ?? 0)
  const achieved = ((placed - (before?.placed ?? 0)) * 1000) / Math.max(1, sinceMs)
  const left = [
    ...(shed > 0 ? [`shed ${shed}`] : []),
    ...(held > 0 ? [`held back ${held}`] : []),
    ...(unasked > 0 ? [`beats held back ${unasked}`] : []),
    ...second.errorCounts.map(({ where, code, count }) => `${where} ${code} ×${count}`),
  ]
  const statuses = [...second.statuses].map(([status, count]) => `${shortStatus(status)} ${count}`)
  return [
    `${Math.round(atMs / 1000)} s`,
    `${achieved.toFixed(1)}/s of ${ratePerSecond}/s`,
    `due ${arrived}, placed ${placed}, in flight ${inFlight}`,
    ...(statuses.length > 0 ? [statuses.join(' ')] : []),
    left.length > 0 ? left.join(', ') : 'no errors',
  ].join(' | ')
}

/** The words that tell them apart, for one line of a terminal. */
const shortStatus = (status: string): string =>
  status
    .replace(/^WAITING_FOR_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(' ', '/')
