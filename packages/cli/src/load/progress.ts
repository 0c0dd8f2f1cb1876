import type { SecondSample } from './orders/generator.ts'

const PLAIN_INTERVAL = 5
/** An unchanged line is printed again after this number of seconds, to show that the run still waits. */
const REPEAT_INTERVAL = 30
const RATE_WINDOW = 5
/** Clears the line of a terminal. */
const CLEAR_LINE = '\r\x1b[K'

export type ProgressLine = {
  readonly show: (second: SecondSample) => void
  /** Clears the progress line of a terminal before other output. */
  readonly end: () => void
}

type Options = {
  readonly write: (text: string) => void
  readonly ratePerSecond: number
  /** The width of the terminal; undefined if the output is no terminal, and gets a line every few seconds. */
  readonly columns: number | undefined
}

/** Shows the progress of a run: every second on one line of a terminal, or in plain lines for a log. */
export function openProgressLine({ write, ratePerSecond, columns }: Options): ProgressLine {
  const seconds: SecondSample[] = []
  let printed = ''
  let printedAt = 0
  return {
    show(second) {
      seconds.push(second)
      const before = seconds.at(-1 - RATE_WINDOW)
      const line = formatProgress(second, before, ratePerSecond)
      if (columns !== undefined) write(`${CLEAR_LINE}${line.slice(0, columns - 1)}`)
      if (columns !== undefined || seconds.length % PLAIN_INTERVAL > 0) return
      const content = line.slice(line.indexOf('|'))
      if (content === printed && seconds.length - printedAt < REPEAT_INTERVAL) return
      printed = content
      printedAt = seconds.length
      write(`${line}\n`)
    },
    end: () => void (columns !== undefined && write(CLEAR_LINE)),
  }
}

function formatProgress(second: SecondSample, before: SecondSample | undefined, ratePerSecond: number): string {
  const { atMs, arrived, placed, refused, inFlight, shed, held, unasked } = second
  const sinceMs = atMs - (before?.atMs ?? 0)
  const achieved = ((placed - (before?.placed ?? 0)) * 1000) / Math.max(1, sinceMs)
  const problems = [
    ...(refused > 0 ? [`refused ${refused}`] : []),
    ...(shed > 0 ? [`shed ${shed}`] : []),
    ...(held > 0 ? [`held back ${held}`] : []),
    ...(unasked > 0 ? [`polls held back ${unasked}`] : []),
    ...second.errorCounts.map(({ where, code, count }) => `${where} ${code} ×${count}`),
  ]
  const statuses = [...second.statuses].map(([status, count]) => `${shortenStatus(status)} ${count}`)
  return [
    `${Math.round(atMs / 1000)} s`,
    `${achieved.toFixed(1)}/s of ${ratePerSecond}/s`,
    `due ${arrived}, placed ${placed}, in flight ${inFlight}`,
    ...(statuses.length > 0 ? [statuses.join(' ')] : []),
    problems.length > 0 ? problems.join(', ') : 'no errors',
  ].join(' | ')
}

/** Shortens a status for one line of a terminal. */
const shortenStatus = (status: string): string =>
  status
    .replace(/^WAITING_FOR_/, '')
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(' ', '/')
